"""The encoder and the decoder in the form in which they are provided, see `handed_out`."""
