"""Statements of the source, each with its place.

Its figures' values are not in its text, so none are quoted.
"""

CITATION = (
    'Gu, Gozum and Lam, "Performance and User-friendliness of low-level and higher-level deep'
    ' neural network frameworks" (slides) and "Performance comparisons of various neural network'
    ' frameworks" (report), a course project of EE147, GPU Computing and Programming'
)
HARDWARE = (
    "a school's server whose GPU, processor, driver and library versions are not named (report,"
    " Problems faced)"
)

SHRINKS = (
    "The higher the API, the shorter the code",
    "report, Fig. 1 and Implementation",
    "cuDNN longest, then TensorFlow, Keras shortest; no values in the text",
)
GPU_BEATS_CPU = (
    "The GPU beats the CPU, vastly in TensorFlow",
    "report, Fig. 2 and Performance",
    "TensorFlow and Keras faster on the GPU; no values in the text",
)
KERAS_SLOWEST = (
    "Keras is slowest on the GPU",
    "report, Performance; slides, Time to inference",
    "Keras slowest, over a Python loop of `model.predict` of one image",
)
NAIVE = (
    "cuDNN falls behind a framework because the program is naive",
    "report, Performance",
    "TensorFlow fastest, cuDNN behind it: “most likely stems from a naive implementation”",
)
HIGHER_IS_SLOWER = (
    "Higher APIs trade performance for simplicity",
    "report, Performance (“our initial thought”)",
    "Keras slowest, but cuDNN slower than TensorFlow",
)
OVERHEAD = (
    "Overhead grows with the level of abstraction",
    "slides, Goal of Project",
    "expected; no time of a kernel was taken",
)

FLAWS = """\
- **Three networks, not one.** TensorFlow's has 32 and 64 maps and a dense layer of 1,024 (3,274,634 parameters);
  Keras's 5 and 12 maps and 128 (27,636, 118 times fewer). Both numbers follow from the layers on the slides.
- **cuDNN's network is not whole.** It has 6 maps, padded by 1, and no dense layers: they were commented out (report,
  Problems faced). The descriptors on the slides even have one map, of which the filters' values are read past the end
  of their table (`kernel_template[LAYER1_SIZE]`).
- **Keras was timed over a Python loop of `model.predict`, one image a call** (slides, Keras: Prediction), which builds
  a data pipeline at each call; the other programs called their network.
- The values of both figures stand in pictures only. Hardware, versions and spread are not told.
- Each program trained or loaded weights of its own, so their outputs could not be compared."""
