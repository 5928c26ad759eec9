"""Define families of recurrent layers, recurrent cells, and Fourier transforms."""

from collections.abc import Mapping, Sequence
from math import log2, prod

from tracelens.derive.kernels.bound_call import Bound, Family
from tracelens.derive.kernels.recorded_call import Tensor, UnknownWorkError, are_sizes

_LSTM_GATES, _GRU_GATES, _GRU_SAVED = 4, 3, 5
"""Numbers of gates of a cell, and of tensors that a GRU cell saves for its backward pass.

Each gate and each saved tensor is as wide as the state.
"""


def _weight_shapes(bound: Bound) -> list[Sequence[int]]:
    shapes = bound.call.shapes[bound.arguments.index("W")]
    if not isinstance(shapes, list) or not shapes or not all(map(are_sizes, shapes)):
        raise UnknownWorkError
    return shapes


def _layer(bound: Bound) -> int:
    """Return the FLOPs of a recurrent layer: each token is multiplied by each matrix of weights."""
    matrices = [shape for shape in _weight_shapes(bound) if len(shape) == 2]
    return 2 * _n_tokens(bound) * sum(map(prod, matrices))


def _layer_backward(bound: Bound) -> int:
    """Return the FLOPs of a recurrent layer's gradients.

    For each product in the forward pass, the backward pass computes two products.
    """
    return 2 * _layer(bound)


def _n_tokens(bound: Bound) -> int:
    return prod(bound.nth(0).shape[:-1])


def _states(bound: Bound) -> list[Tensor]:
    """Return the initial states, (layers and directions, batch, width)."""
    states = [tensor for tensor in bound.all("t")[1:] if len(tensor.shape) == 3]
    if not states:
        raise UnknownWorkError
    return states


def _layer_results(bound: Bound) -> list[int]:
    """Count the elements of the output, of the last hidden state, and of the last cell state."""
    n_directions = 2 if bound.value("B") is True else 1
    hidden, *cells = _states(bound)
    output = _n_tokens(bound) * n_directions * hidden.shape[-1]
    return [
        output,
        hidden.n_elements,
        sum(cell.n_elements for cell in cells[:1]),
    ]


def _layer_gradients(bound: Bound) -> list[int]:
    """Count the elements of the input's gradient, and of all weights' gradients."""
    return [
        bound.nth(0).n_elements,
        sum(map(prod, _weight_shapes(bound))),
    ]


def _layer_reads(bound: Bound) -> int:
    """Return the bytes of inputs, states, gradients and weights, each read once."""
    # Tensors of one dimension are a flat copy of the weights, and cuDNN's buffers.
    given = sum(tensor.n_bytes for tensor in bound.all("t") if len(tensor.shape) > 1)
    return given + sum(map(prod, _weight_shapes(bound))) * bound.nth(0).width


def _lstm_cell(bound: Bound) -> list[int]:
    """Count the elements of the hidden state, of the cell state, and of the saved gates."""
    gates, state = bound.nth(0), bound.nth(2)
    return [state.n_elements, state.n_elements, gates.n_elements]


def _gru_cell(bound: Bound) -> list[int]:
    """Count the elements of the state, and of the tensors saved for the backward pass."""
    state = bound.nth(2).n_elements
    return [state, _GRU_SAVED * state]


def _lstm_cell_backward(bound: Bound) -> list[int]:
    """Count the elements of the gates' gradient and of the cell state's gradient."""
    saved = bound.all("t")[-1].n_elements
    return [saved, saved // _LSTM_GATES]


def _gru_cell_backward(bound: Bound) -> list[int]:
    """Count the elements of the gradients of input gates, hidden gates and state."""
    state = bound.nth(0).n_elements
    return [_GRU_GATES * state, _GRU_GATES * state, state]


def _transformed(bound: Bound) -> list[int]:
    """Return the bytes of a Fourier transform's result, divided by the bytes per input element."""
    shape, dims = list(bound.nth(0).shape), _dims(bound)
    # A complex number is as wide as two real numbers. The transform of n real numbers has n // 2 +
    # 1 complex numbers.
    n_last = bound.value("u")
    if type(n_last) is int:
        shape[dims[-1]] = n_last
        return [prod(shape) // 2]
    if bound.nth(0).dtype.startswith("complex"):
        return [prod(shape)]
    shape[dims[-1]] = shape[dims[-1]] // 2 + 1
    return [2 * prod(shape)]


def _dims(bound: Bound) -> list[int]:
    n_dims, dims = len(bound.nth(0).shape), bound.value("d")
    if not isinstance(dims, list) or not dims or not all(type(d) is int for d in dims):
        raise UnknownWorkError
    if not all(-n_dims <= d < n_dims for d in dims):
        raise UnknownWorkError
    return dims


def _transform_operations(bound: Bound) -> int:
    """Return the operations of a Fourier transform: 5 n log2(n) for n points, half for real data.

    FFTW's benchmark uses this count (https://www.fftw.org/speed/method.html).
    """
    shape, dims = list(bound.nth(0).shape), _dims(bound)
    n_last = bound.value("u")
    is_real = type(n_last) is int or not bound.nth(0).dtype.startswith("complex")
    if type(n_last) is int:
        shape[dims[-1]] = n_last
    n_points = prod(shape[d] for d in dims)
    operations = 5 * prod(shape) * log2(max(n_points, 1))
    return round(operations / 2 if is_real else operations)


RECURRENT: Mapping[str, Family] = {
    "rnn": Family(_layer_results, flops=_layer, reads=_layer_reads),
    "rnn_backward": Family(_layer_gradients, flops=_layer_backward, reads=_layer_reads),
    "lstm_cell": Family(_lstm_cell, 5),
    "gru_cell": Family(_gru_cell, 3),
    "lstm_cell_backward": Family(_lstm_cell_backward, 5),
    "gru_cell_backward": Family(_gru_cell_backward, 3),
    "fourier": Family(_transformed, _transform_operations),
}
"""Families of recurrent layers and of Fourier transforms by name."""
