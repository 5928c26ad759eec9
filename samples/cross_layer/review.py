"""The cross-layer review: who wrote it, what it claims, and what it says of measurements."""

CITATION = (
    "Hamid Tabani, Roger Pujol, Jaume Abella and Francisco J. Cazorla (Barcelona Supercomputing"
    ' Center), "A Cross-Layer Review of Deep Learning Frameworks to Ease Their Optimization and'
    ' Reuse"'
)
HARDWARE = "nothing was measured: a position paper without a number, a device or a version"
NO_NUMBER = "no number"
LINEAR_ALGEBRA, FEW_OPERATIONS = "linear algebra operations", "few operations"
SAME_KERNELS = "among PyTorch eager, LibTorch, TorchScript and a program on cuDNN"
SAME_UNDER_COMPILE = "with torch.compile"
ONE_FOR_ALL = "one operation for all"
CLAIMS = {
    "Deep learning rests on few linear algebra operations": (LINEAR_ALGEBRA, FEW_OPERATIONS),
    "Frameworks use the same libraries and differ above them": (SAME_KERNELS, SAME_UNDER_COMPILE),
    "So optimising few low-level operations serves all": (ONE_FOR_ALL,),
}
"""The review's claims, each with the parts that are judged here."""
