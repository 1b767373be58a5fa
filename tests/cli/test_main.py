"""The entry point: what every command line has in common."""

import errno
import os
import subprocess
import sys

import pytest

from gpu_opt.cli import _lazy, main
from gpu_opt.errors import CheckFailed, Infeasible, InputError, NoPlanInTime, PriceDataError, Problem, ProviderError

RUN = [sys.executable, "-m", "gpu_opt.cli"]


@pytest.fixture
def command_that(monkeypatch):
    """Puts a function in the place of `gpu-opt verify`."""

    def install(function):
        module = type(sys)("a_command")
        module.command = function
        monkeypatch.setitem(sys.modules, "a_command", module)
        monkeypatch.setitem(_lazy.COMMANDS, "verify", ("a_command:command", "Does what the test says."))

    return install


def raising(error):
    def command() -> None:
        raise error

    return command


def test_help_lists_every_command_and_none_that_is_not_built(gpu_opt):
    ran = gpu_opt("--help")
    assert ran.code == 0
    listed = [line.split()[0] for line in ran.out.split("Commands:\n")[1].splitlines()]
    assert listed == list(_lazy.COMMANDS)


def test_version_is_the_package_version(gpu_opt):
    from gpu_opt import __version__

    assert gpu_opt("--version").out == f"gpu-opt {__version__}\n"


def test_no_arguments_show_the_help_and_are_a_usage_error(gpu_opt):
    ran = gpu_opt()
    assert ran.code == 2
    assert "Commands:" in ran.out + ran.err


def test_an_unknown_command_is_a_usage_error_with_a_suggestion(gpu_opt):
    ran = gpu_opt("verfy")
    assert (ran.code, ran.out) == (2, "")
    assert "Did you mean 'verify'" in ran.err


@pytest.mark.parametrize("name", sorted(_lazy.PLANNED))
@pytest.mark.parametrize("rest", [[], ["file.yaml", "--vary", "x=1"], ["--help"]])
def test_what_is_not_built_is_refused_by_name(gpu_opt, name, rest):
    ran = gpu_opt(name, *rest)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"gpu-opt {name}: not supported yet")


@pytest.mark.parametrize("name", sorted(_lazy.COMMANDS))
def test_every_listed_command_exists_and_explains_itself(gpu_opt, name):
    ran = gpu_opt(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: gpu-opt {name} ")


def test_a_command_whose_module_is_missing_is_refused_by_name(gpu_opt, monkeypatch):
    monkeypatch.setitem(_lazy.COMMANDS, "verify", ("gpu_opt.cli.nowhere:command", "Missing."))
    ran = gpu_opt("verify", "plan.json")
    assert ran.code == 2
    assert "verify: not supported yet" in ran.err


def test_a_missing_library_is_not_mistaken_for_a_missing_command(gpu_opt, command_that, monkeypatch):
    monkeypatch.setitem(sys.modules, "a_library", None)

    def command() -> None:
        import a_library  # noqa: F401

    command_that(command)
    ran = gpu_opt("verify")
    assert ran.code == 1
    assert "internal error: ModuleNotFoundError" in ran.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError(Problem(what="wrong")), 2),
        (Infeasible(["no GPU is left"]), 3),
        (NoPlanInTime("60 s were not enough"), 4),
        (CheckFailed("the sum is off"), 5),
        (PriceDataError("no prices"), 6),
        (ProviderError("nothing usable"), 7),
    ],
)
def test_each_error_of_the_product_has_its_exit_code_and_prints_its_message(gpu_opt, command_that, error, code):
    command_that(raising(error))
    ran = gpu_opt("verify")
    assert (ran.code, ran.out, ran.err) == (code, "", f"{error}\n")


def test_a_message_cannot_drive_the_terminal(gpu_opt, command_that):
    command_that(raising(InputError(Problem(what="name \x1b[2Jgone\x9b1m \u202etxt"))))
    assert gpu_opt("verify").err == "name \\x1b[2Jgone\\x9b1m \\u202etxt\n"


def test_an_internal_error_is_one_paragraph_without_a_traceback(gpu_opt, command_that):
    command_that(raising(RuntimeError("first line\nsecond line")))
    ran = gpu_opt("verify")
    assert ran.code == 1
    assert ran.err.startswith("gpu-opt: internal error: RuntimeError: first line\n")
    assert "second line" not in ran.err
    assert "Traceback" not in ran.err


def test_an_internal_error_shows_its_traceback_when_asked(gpu_opt, command_that, monkeypatch):
    monkeypatch.setenv("GPU_OPT_DEBUG", "1")
    command_that(raising(RuntimeError("deep inside")))
    with pytest.raises(RuntimeError, match="deep inside"):
        gpu_opt("verify")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a.yaml"),
            2,
            "a.yaml: No such file or directory.",
        ),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "a.yaml"), 2, "a.yaml: Is a directory."),
        (OSError(errno.ENOSPC, "No space left on device", "plan.json"), 1, "plan.json: No space left on device."),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(gpu_opt, command_that, error, code, message):
    command_that(raising(error))
    ran = gpu_opt("verify")
    assert (ran.code, ran.err) == (code, f"gpu-opt: {message}\n")


def test_an_interrupt_exits_130(gpu_opt, command_that):
    command_that(raising(KeyboardInterrupt()))
    assert gpu_opt("verify").code == 130


def test_an_exit_code_that_a_command_chooses_is_kept(gpu_opt, command_that):
    import typer

    command_that(raising(typer.Exit(5)))
    assert gpu_opt("verify").code == 5


def test_a_reader_that_goes_away_ends_the_command_quietly():
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run([*RUN, "--help"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ran.returncode, ran.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the platform has no full device")
def test_a_full_disk_is_told_and_fails():
    with open("/dev/full", "wb") as full:
        ran = subprocess.run([*RUN, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, ran.stderr) == (1, b"gpu-opt: No space left on device.\n")


def test_output_is_utf8_whatever_the_locale():
    code = (
        "import sys; from gpu_opt.cli import _lazy, main; m = type(sys)('m')\n"
        "def command() -> None: print('8 × H100')\n"
        "m.command = command; sys.modules['m'] = m; _lazy.COMMANDS['verify'] = ('m:command', 'x')\n"
        "sys.exit(main.main(['verify']))"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert ran.stdout == "8 × H100\n".encode()


def test_a_closed_stdout_is_no_error():
    ran = subprocess.run(["sh", "-c", f"{sys.executable} -m gpu_opt.cli --help >&-"], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_the_shell_completes_commands_and_options():
    def complete(words):
        environment = {
            **os.environ,
            "_GPU_OPT_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        return subprocess.run(RUN, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert complete(["gpu-opt", "do"]) == ["doctor"]
    assert complete(["gpu-opt", "doctor", "--fo"]) == ["--format"]


def test_run_passes_the_exit_code_on(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gpu-opt", "verfy"])
    with pytest.raises(SystemExit) as end:
        main.run()
    assert end.value.code == 2
