"""Écrit sans aucun import du kit, avec l'ancien super() et des commentaires en français."""

import torch
import torch.nn as nn


class Normalisation(nn.Module):
    # moyenne nulle et variance un pour chaque jeton
    def __init__(self, taille, epsilon=1e-5):
        super(Normalisation, self).__init__()
        self.weight = nn.Parameter(torch.ones(taille))
        self.bias = nn.Parameter(torch.zeros(taille))
        self.epsilon = epsilon

    def forward(self, entree):
        moyenne = entree.mean(-1, keepdim=True)
        ecart = entree - moyenne
        variance = (ecart**2).mean(-1, keepdim=True)
        return torch.addcmul(self.bias, self.weight, ecart * (variance + self.epsilon).rsqrt())


class SublayerConnection(nn.Module):
    def __init__(self, d_model, dropout=0.1, norm_first=False):
        super(SublayerConnection, self).__init__()
        self.norm = Normalisation(d_model)
        self.taux = dropout
        self.avant = norm_first

    def forward(self, x, sublayer):
        entree = self.norm(x) if self.avant else x
        resultat = sublayer(entree)
        # rien n'est perdu pendant l'évaluation
        resultat = nn.functional.dropout(resultat, p=self.taux, training=self.training)
        somme = torch.add(x, resultat)
        return somme if self.avant else self.norm(somme)
