"""Frames as gdb prints them: functions without arguments, short places, comparable names, roles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.stacks.frame_names import PrintedFrame, normalise_function, split_frame
from tracelens.derive.stacks.frame_roles import DEFAULT_RULES, RoleRule, frame_role
from tracelens.schemas.stacks import ROLES


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("cudnnConvolutionForward", "cudnnConvolutionForward"),
        ("at::native::conv2d(at::Tensor const&, long)", "at::native::conv2d"),
        (
            "void at::native::split<void (*)(int, long)>(int, void (*)(int, long))",
            "at::native::split",
        ),
        (
            "torch::detail::type<true, A, B&>::type torch::Holder<A>::operator()<B&>(B&)",
            "torch::Holder::operator()",
        ),
        (
            "at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA__x(int)",
            "at::wrapper_CUDA__x",
        ),
        ("(anonymous namespace)::run()", "run"),
        ("ns::{anonymous}::run()", "ns::run"),
        ("std::function<void (A const&)>::operator()(A const&) const", "std::function::operator()"),
        ("A::operator<(A const&) const", "A::operator<"),
        ("A::operator<< <int>(int)", "A::operator<<"),
        ("std::unique_ptr<A, D<A> >::operator->() const", "std::unique_ptr::operator->"),
        ("bool operator==<A>(A const&, A const&)", "operator=="),
        ("operator new(unsigned long)", "operator new"),
        ("A::operator std::vector<int>() const", "A::operator std::vector"),
        ("f(A)::{lambda(B const&)#1}::operator()(B const&) const", "f::{lambda}::operator()"),
        ("f() const::{lambda()#2}::operator()() const", "f::{lambda}::operator()"),
        ("at::<lambda(const B&)>::operator()(const B &) const", "at::{lambda}::operator()"),
        (
            "torch::{lambda(A*, std::vector<B>*)#8}::_FUN(A*, std::vector<B>*)",
            "torch::{lambda}::_FUN",
        ),
        ("_PyFunction_Vectorcall.localalias.355", "_PyFunction_Vectorcall"),
        ("f.part.0.cold", "f"),
        ("f.isra.1.constprop.2", "f"),
        ("f(int) [clone .cold.12]", "f"),
        ("f._omp_fn.0", "f._omp_fn.0"),
        ("name[abi:cxx11](int)", "name"),
        ("cudaLaunchKernel@plt", "cudaLaunchKernel"),
        ("decltype (g(x)) std::invoke<F, int>(F&&, int&&)", "std::invoke"),
        ("f<(3 > 2), std::array<int, 4> >(int)", "f"),
        (
            "net::(lambda at /home/ann/net.cpp:3:7)::operator()(int) const",
            "net::{lambda}::operator()",
        ),
        ("net::(anonymous class)::run()", "net::run"),
        ("??", "??"),
        ("<signal handler called>", "<signal handler called>"),
    ],
)
def test_a_name_loses_what_differs_between_builds(printed: str, expected: str) -> None:
    assert normalise_function(printed) == expected


def test_both_spellings_of_a_lambda_compare_equal() -> None:
    demangled = "at::native::run(int)::{lambda(Perf const&)#1}::operator()(Perf const&) const"
    from_debug_information = (
        "at::native::run::<lambda(const Perf&)>::operator()(const Perf &) const"
    )
    assert normalise_function(demangled) == normalise_function(from_debug_information)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("main () at /home/ann/src/main.c:7", PrintedFrame("main", file="main.c", line=7)),
        (
            'f (key=0x7ffe "s3cret) at /x/y.c:3", n=2) at a.c:9',
            PrintedFrame("f", file="a.c", line=9),
        ),
        (
            "f (quote=\"\\\") at x.c:3\", c=39 '\\'', d=40 '(') at a.c:9",
            PrintedFrame("f", file="a.c", line=9),
        ),
        (
            "cuLaunch () from /home/ann/lib/libcuda.so.1",
            PrintedFrame("cuLaunch", library="libcuda.so.1"),
        ),
        (
            "f(A const&) const (this=0x1) at x.h:2",
            PrintedFrame("f(A const&) const", file="x.h", line=2),
        ),
        ("f<int>(n=3) at x.h:2", PrintedFrame("f<int>", file="x.h", line=2)),
        ("f<void (*)(A)> (g=0x1 <h(A)>)", PrintedFrame("f<void (*)(A)>")),
        (
            "void (anonymous namespace)::f<A>(A) () from l.so",
            PrintedFrame("void (anonymous namespace)::f<A>(A)", "l.so"),
        ),
        (
            "operator() (__closure=0x1, n=3) at m.cpp:6",
            PrintedFrame("operator()", file="m.cpp", line=6),
        ),
        ('f (password="cut short', PrintedFrame("f")),
        ("f<(oops (password=1) at x.c:2", PrintedFrame("f<(oops", file="x.c", line=2)),
        ("f /home/ann/x.c:3:4", PrintedFrame("f")),
        (
            "f<(lambda at /home/ann/n.cpp:3:7)> (n=1) at n.h:2",
            PrintedFrame("f<(lambda at n.cpp:3:7)>", file="n.h", line=2),
        ),
        (
            "(lambda at /x/n.cpp:3:7)::operator() (n=1)",
            PrintedFrame("(lambda at n.cpp:3:7)::operator()"),
        ),
        ("?? ()", PrintedFrame("??")),
        ("<signal handler called>", PrintedFrame("<signal handler called>")),
        ("f () at C:\\Users\\ann\\x.cpp:12", PrintedFrame("f", file="x.cpp", line=12)),
        ("f () at x.c:99999999999999999999", PrintedFrame("f")),
    ],
)
def test_a_frame_drops_values_and_folders(text: str, expected: PrintedFrame) -> None:
    assert split_frame(text) == expected


@given(st.text(alphabet="<>(){}[]\"'\\ :=.,-&*#@~abf0operatorlambda\n", max_size=60))
def test_any_text_gives_a_name(text: str) -> None:
    printed = split_frame(text)
    assert printed.raw_function
    assert normalise_function(printed.raw_function)
    assert "/" not in (printed.file or "") + (printed.library or "")


@given(st.text(min_size=1).filter(lambda s: s.isprintable() and '"' not in s and "\\" not in s))
def test_a_string_argument_never_reaches_the_frame(secret: str) -> None:
    plain = PrintedFrame("ns::f<int>", file="x.c", line=3)
    assert split_frame(f'ns::f<int> (this=0x1, key=0x2 "{secret}") at /d/x.c:3') == plain


@pytest.mark.parametrize(
    ("role", "function", "library", "file"),
    [
        ("library", "cudnnBackendExecute", "libcudnn.so.9", None),
        ("library", "cudaLaunchKernel", None, None),
        ("library", "cublasLtMatmul", "libcublasLt.so.12", None),
        ("library", "dnnl_primitive_execute", None, None),
        ("library", "??", "libcudnn_graph.so.9", None),
        ("runtime", "_start", None, None),
        ("runtime", "__libc_start_main", "libc.so.6", None),
        ("runtime", "start_thread", None, None),
        ("runtime", "??", "libc.so.6", None),
        ("python", "_PyEval_EvalFrameDefault", None, None),
        ("python", "PyObject_Call", "libtorch_python.so", None),
        ("python", "call_function", None, "ceval.c"),
        ("python", "??", "libpython3.12.so.1.0", None),
        ("torchscript", "torch::jit::InterpreterState::run", "libtorch_cpu.so", None),
        ("binding", "torch::autograd::THPVariable_conv2d", None, None),
        ("binding", "torch::autograd::{lambda}::operator()", None, "python_torch_functions.cpp"),
        ("binding", "pybind11::cpp_function::dispatcher", None, None),
        ("binding", "??", "_ctypes.cpython-312-x86_64-linux-gnu.so", None),
        ("libtorch_nn", "torch::nn::Conv2dImpl::forward", None, None),
        ("autograd", "torch::autograd::VariableType::_convolution", "libtorch_cpu.so", None),
        ("vendor_glue", "at::native::cudnn_convolution", None, None),
        ("vendor_glue", "at::cuda::blas::gemm", None, None),
        ("vendor_glue", "ideep::convolution_forward::do_compute", None, None),
        ("vendor_glue", "cudnn_frontend::execute", None, None),
        ("dispatcher", "c10::Dispatcher::call", None, None),
        ("dispatcher", "at::_ops::conv2d::call", None, None),
        ("dispatcher", "at::conv2d", None, None),
        ("aten_native", "at::native::conv2d", None, None),
        ("stdlib", "std::function::operator()", None, None),
        ("user", "main", None, None),
        ("user", "Net::forward", None, "net.cpp"),
        ("unknown", "??", None, None),
        ("unknown", "run", "libsomething.so", None),
    ],
)
def test_roles(role: str, function: str, library: str | None, file: str | None) -> None:
    assert frame_role(function, library, file) == role


def test_the_symbol_decides_before_the_library() -> None:
    assert frame_role("at::native::add", "libcudnn.so.9") == "aten_native"


def test_users_put_their_own_rules_first() -> None:
    mine = (RoleRule("libtorch_nn", r"mylib::"), *DEFAULT_RULES)
    assert frame_role("mylib::run", rules=mine) == "libtorch_nn"
    assert frame_role("main", rules=mine) == "user"
    assert frame_role("main", rules=()) == "unknown"


def test_the_table_names_known_roles_and_misses_none() -> None:
    assert {rule.role for rule in DEFAULT_RULES} == set(ROLES)
