"""The encoder and the decoder as they are handed out; `curriculum.handed_out` reads them."""
