"""The loss of bag answers on PyTorch's tensors: `objective.py` has its formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .objective import LEAST_VARIANCE, MOST_RAW
from .options import family_of

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["bag_loss"]


def _moments(torch: Any, raw: Any, family: str) -> tuple[Any, Any]:
    if family == "linear":
        return raw, torch.ones_like(raw)
    if family == "logistic":
        mean = torch.sigmoid(raw)
        return mean, mean * (1.0 - mean)
    mean = torch.exp(raw.clamp(max=MOST_RAW))
    return mean, mean


def bag_loss(
    raw: Tensor,
    bag: Tensor,
    answers: Tensor,
    family: str = "linear",
    noise_variance: Tensor | float = 0.0,
    dispersion: float = 1.0,
) -> Tensor:
    """Return the mean loss of bag answers, to be minimised by the parameters of a PyTorch model.

    A batch holds whole bags: with some of a bag's rows the mean prediction would not be about what
    the answer is about.

    Parameters
    ----------
    raw : Tensor of shape (n_rows,)
        What the model predicts for every row of the batch: means (linear), logits (logistic) or
        logarithms of means (poisson).
    bag : Tensor of int64, shape (n_rows,)
        Number of each row's bag in `answers`.
    answers : Tensor of shape (n_bags,)
        The mean label of each bag.
    family : {"linear", "logistic", "poisson"}
    noise_variance : Tensor of shape (n_bags,) or float
        The variance of the noise in each answer; 0: none.
    dispersion : float
        The labels' variance over that of the family; linear: the variance itself.  It matters only
        where there is noise.

    Returns
    -------
    Tensor
        A number: the mean over the bags of r^2 / (2 V).  V is a constant for the gradient.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("bag_loss needs PyTorch: pip install 'priorboost[torch]'") from error
    family_of(family)
    if raw.shape != bag.shape or raw.dim() != 1:
        raise ValueError(
            f"raw has the shape {tuple(raw.shape)} and bag {tuple(bag.shape)}; both must have one "
            "number per row, such as raw.squeeze(1)"
        )
    sizes = torch.bincount(bag, minlength=len(answers)).to(raw.dtype)
    if len(sizes) != len(answers) or not bool((sizes > 0).all()):
        raise ValueError(
            f"there are {len(answers)} answers, but the rows name bags up to {int(bag.max())}"
            + ("" if bool((sizes > 0).all()) else f", and none names bag {int(sizes.argmin())}")
        )
    mean, variance = _moments(torch, raw, family)
    none = torch.zeros_like(answers, dtype=raw.dtype)
    residual = answers.to(raw.dtype) - none.index_add(0, bag, mean) / sizes
    with torch.no_grad():
        own = none.index_add(0, bag, variance.clamp(min=LEAST_VARIANCE)) / sizes**2
        bag_variance = own + noise_variance / dispersion
    return 0.5 * (residual**2 / bag_variance).mean()
