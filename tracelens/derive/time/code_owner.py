"""Classify Python frames by the owner of their code: the program, a library or the runtime."""

import sys

import polars as pl

PROGRAM, LIBRARY, RUNTIME = 2, 1, 0
"""Owners of code. RUNTIME means the standard library, torch, builtins and generated code."""

OWN_HOOKS = r"(?:^|/)collectors/torch/live/[0-9A-Za-z_]+\.py\("
"""Pattern for Python frames of the hooks that a live capture puts into the program."""

# Python has a package `test`, but a file test.py is usually the program's own.
_STDLIB = "|".join(sorted({*sys.stdlib_module_names, "distutils", "imp", "asyncore"} - {"test"}))
_INSTALLED = r"(?:^|/)(?:dist|site)-packages/"
_STDLIB_FOLDERS = (
    r"(?:^|/)lib(?:32|64)?/python[0-9][0-9.]*t?/|(?i)/python[0-9.]+/lib/|/python[0-9]+\.zip/"
)
# If a trace has no folders, a file written by Inductor shows by its name: a "c" and a hash of 51
# digits in base 32 (code_hash in torch/_inductor/codecache.py).
_OF_INDUCTOR = r"(?:^|/)c[a-z2-7]{51}\.py\("
_RUNTIME = (
    rf"^(?:{_STDLIB})(?:\.py\(|/)|{_STDLIB_FOLDERS}|(?:^|/)(?:torch|functorch|torchgen)/"
    rf"|(?:^|/)tracelens/|{OWN_HOOKS}|(?:^|/)torchinductor_|{_OF_INDUCTOR}|^<"
)
"""Pattern for names of the runtime's Python calls.

Names in angle brackets belong to frozen modules, builtins, and code compiled from a string.
"""
_TYPED_IN = r"^<(?:ipython-input|stdin>|cell )"
_LIBRARIES = (
    "numpy scipy pandas polars pyarrow h5py zarr xarray dask ray joblib numba cupy jax"
    " jaxlib flax tensorflow keras sklearn skimage cv2 PIL imageio av decord matplotlib seaborn"
    " tqdm typer torchvision torchaudio torchtext torchdata torchmetrics torchrec"
    " fbgemm_gpu timm kornia albumentations transformers tokenizers accelerate peft trl"
    " diffusers safetensors huggingface_hub sentence_transformers sentencepiece"
    " pytorch_lightning lightning lightning_fabric lightning_utilities ignite fastai composer"
    " deepspeed megatron apex fairscale fairseq colossalai torchtitan torchtune torchao vllm"
    " sglang flashinfer lightllm tensorrt_llm tensorrt torch_tensorrt onnx onnxruntime triton"
    " xformers flash_attn bitsandbytes einops opt_einsum mamba_ssm causal_conv1d"
    " transformer_engine nemo detectron2 mmcv mmengine mmdet mmseg ultralytics"
    " segmentation_models_pytorch monai torch_geometric torch_scatter torch_sparse dgl ogb"
    " networkx sympy mpmath webdataset ffcv petastorm nvidia lmdb msgpack msgspec orjson yaml"
    " ruamel omegaconf hydra absl attrs pydantic pydantic_core typing_extensions"
    " six packaging filelock fsspec s3fs gcsfs boto3 botocore s3transfer requests urllib3"
    " httpx httpcore aiohttp anyio starlette fastapi uvicorn uvloop grpc zmq cloudpickle dill psutil"
    " pynvml ftfy nltk spacy gensim librosa soundfile audioread wandb tensorboard tensorboardX"
    " mlflow comet_ml clearml neptune setuptools pkg_resources pip wheel _pytest pytest pluggy"
    " IPython ipykernel traitlets tornado jupyter_client nest_asyncio debugpy certifi idna"
    " charset_normalizer jinja2 markupsafe werkzeug flask gradio streamlit xgboost lightgbm"
    " catboost gym gymnasium stable_baselines3 mujoco pyvista trimesh open3d faiss"
)
"""Packages that programs install.

torch's profiler cuts off the folders from which Python imports, so a recorded path begins with the
package's name.
"""
_LIBRARY = (
    rf"^(?:{'|'.join(_LIBRARIES.split())})(?:\.py\(|/)"
    # Programs often have a folder `datasets` of their own.
    r"|^datasets/(?:arrow_dataset|iterable_dataset|formatting|features|builder|load|table|utils)\b"
)


def owner(name: pl.Expr) -> pl.Expr:
    """Classify a Python call, named `FILE(LINE): FUNCTION`, as PROGRAM, LIBRARY or RUNTIME."""
    path = name.str.replace_all(r"\\", "/")
    is_torch = path.str.contains(r"(?:^|/)(?:torch|functorch|torchgen)/")
    rules = (
        (path.str.contains(_INSTALLED) & ~is_torch, LIBRARY),
        (path.str.contains(_TYPED_IN), PROGRAM),
        (path.str.contains(_RUNTIME), RUNTIME),
        (path.str.contains(_LIBRARY), LIBRARY),
    )
    cases = (pl.when(condition).then(pl.lit(code, pl.Int8)) for condition, code in rules)
    return pl.coalesce(*cases, pl.lit(PROGRAM, pl.Int8))


def package(name: pl.Expr) -> pl.Expr:
    """Return the package of a library's Python call."""
    path = name.str.replace_all(r"\\", "/").str.replace(rf"^.*{_INSTALLED}", "")
    return path.str.extract(r"^([^/(.]+)")
