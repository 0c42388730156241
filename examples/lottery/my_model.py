"""The net of a published lottery-ticket experiment, as its code builds it.

guillaume-gagnelabelle/Lottery-Ticket, commit 55e4736374: a net of 784, 300, 100 and 10 units is built, moved
to the GPU, and there every layer is drawn anew, weights by `xavier_normal_`, biases by `normal_`.
"""

from torch import nn


def build() -> nn.Module:
    """The net before training."""
    net = nn.Module()
    net.classifier = nn.Sequential(
        nn.Linear(784, 300), nn.ReLU(), nn.Linear(300, 100), nn.ReLU(), nn.Linear(100, 10)
    )
    net.to("cuda")
    for layer in net.classifier:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_normal_(layer.weight)
            nn.init.normal_(layer.bias)
    return net
