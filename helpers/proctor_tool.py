"""Writes result.json for a script that Proctor runs.

    import proctor_tool

    def run_tool(input_dir, output_dir):
        return '<p>Done.</p>'

    proctor_tool.run(run_tool)

A file that only defines run_tool needs no import: python3 -m proctor_tool tool.py [entry [argument ...]]

Single file, no dependencies. Requires Python 3.8 or newer.
"""

import json
import os
import re
import stat
import sys
import tempfile
import traceback
import types

__all__ = ['UserError', 'fail', 'run', 'succeed']


class UserError(Exception):
    """An expected error. Users of the tool see its message, so do not include paths or secrets."""

    def __init__(self, message=''):
        super().__init__(str(message))


def run(run_tool):
    """Calls run_tool(input_dir, output_dir), writes its result or error to result.json, and ends the script."""

    def call():
        os.makedirs(_OUTPUT, exist_ok=True)
        return run_tool(_INPUT, _OUTPUT)

    _settle(call)


def succeed(html=''):
    """Writes a successful result and ends the script."""
    _settle(lambda: html)


def fail(message):
    """Writes a failed result with a message for users, and ends the script."""
    _end(summary=str(message))


# Read at import, because the tool may change its working folder later.
_WORK = os.getcwd()
_INPUT = os.path.join(_WORK, 'input')
_OUTPUT = os.path.join(_WORK, 'output')

# The contract limits result.json to 1 MiB and 2,000 artifacts. Proctor truncates text beyond the limits below.
_RESULT_BYTES_MAX = 1_048_576
_HTML_BYTES_MAX = 500_000
_SUMMARY_BYTES_MAX = 2_000
_ARTIFACTS_MAX = 2_000
_ARTIFACTS_BYTES_MAX = 400_000
_ENTRIES_MAX = 100_000


class _Ended(SystemExit):
    """Raised after the result is written. A separate class, so that run() keeps the result of succeed() or fail()."""


def _settle(call):
    try:
        html = _html_from(call())
    except _Ended:
        raise
    except SystemExit as error:
        # sys.exit() with any value other than None or 0 means failure.
        if error.code is None or (isinstance(error.code, int) and error.code == 0):
            _end()
        _end(summary=_failure(error), error=error)
    except UserError as error:
        _note(str(error))
        _end(summary=str(error))
    except BaseException as error:  # Includes KeyboardInterrupt: every ending must produce a result.
        _end(summary=_failure(error), error=error)
    _end(html=html)


def _html_from(value):
    if isinstance(value, dict):
        used = 'html' if 'html' in value else 'html_output'
        ignored = len(value) - (used in value)
        if ignored:
            _note('ignored %d other %s of the dict that the tool returned' % (ignored, 'key' if ignored == 1 else 'keys'))
        value = value.get(used)
    if value is None:
        return ''
    if isinstance(value, str):
        return value
    raise UserError('The tool returned a value of type %s instead of HTML text.' % _name_of(type(value)))


def _failure(error):
    return 'The tool failed (%s).' % _name_of(type(error))


def _name_of(kind):
    """Returns the name of a class, or "Error" if the name is unusual: a class name can be any text."""
    try:
        name = kind.__name__
        return name if re.fullmatch('[A-Za-z0-9_.]{1,80}', name) else 'Error'
    except Exception:
        return 'Error'


def _end(html='', summary=None, error=None):
    """Writes the result before the traceback, because printing the traceback can fail."""
    try:
        _write(_result(html, summary))
        code = 0 if summary is None else 1
    except Exception as trouble:
        _note('result.json could not be written (%s)' % _name_of(type(trouble)))
        code = 1
    if error is not None:
        try:
            traceback.print_exception(type(error), error, error.__traceback__)
        except Exception:
            _note('the traceback could not be printed')
    raise _Ended(code)


def _result(html, summary):
    """Returns result.json as canonical JSON, so that equal results have equal bytes."""
    if summary is not None:
        summary = _cut(_whole(summary), _SUMMARY_BYTES_MAX).strip() or 'The tool failed.'
    html = _whole(html)
    shown = _cut(html, _HTML_BYTES_MAX)
    artifacts = _artifacts()
    while True:
        data = _json(
            {
                'contract_version': 1,
                'status': 'succeeded' if summary is None else 'failed',
                'html_output': shown,
                'error_summary': summary,
                'artifacts': artifacts,
            }
        )
        if len(data) <= _RESULT_BYTES_MAX:
            break
        # Escaped quotes and control characters can make 500,000 bytes of HTML exceed the limit.
        shown = _cut(shown, len(shown.encode()) * _RESULT_BYTES_MAX // len(data))
    if shown != html:
        _note('the HTML was truncated to %d bytes' % len(shown.encode()))
    return data


def _json(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(',', ':')).encode()


def _whole(text):
    """Replaces unpaired surrogates, which UTF-8 cannot encode."""
    return text.encode('utf-16-le', 'surrogatepass').decode('utf-16-le', 'replace')


def _cut(text, bytes_max):
    return text.encode()[:bytes_max].decode('utf-8', 'ignore')


def _write(data):
    """Writes atomically, so that a killed script leaves no partial result."""
    handle, name = tempfile.mkstemp(prefix='.result-', suffix='.tmp', dir=_WORK)
    try:
        with os.fdopen(handle, 'wb') as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, os.path.join(_WORK, 'result.json'))
    except BaseException:
        os.unlink(name)
        raise


def _artifacts():
    """Returns the regular files below output/, sorted. The list is informational: Proctor scans the folder itself."""
    found = []
    unfit = 0
    for path, size in _files():
        if _is_fit(path):
            found.append({'path': path, 'bytes': size})
        else:
            unfit += 1
    # By UTF-16 code unit, like all lists that Proctor writes.
    found.sort(key=lambda artifact: artifact['path'].encode('utf-16-be'))
    artifacts = found[:_ARTIFACTS_MAX]
    while artifacts and len(_json(artifacts)) > _ARTIFACTS_BYTES_MAX:
        artifacts = artifacts[: len(artifacts) * 9 // 10]
    if len(artifacts) < len(found):
        _note('result.json lists %d of %d files in output/' % (len(artifacts), len(found)))
    if unfit:
        _note('result.json omits files in output/ whose names are not portable: %d' % unfit)
    return artifacts


def _files():
    """Yields the path and size of regular files below output/. Ignores links and stops after _ENTRIES_MAX entries."""
    seen = 0
    # Uses bytes, because Python decodes names by locale, while result.json is always UTF-8.
    work = os.fsencode(_WORK)
    folders = [b'output'] if _is_folder(_OUTPUT) else []
    while folders:
        folder = folders.pop()
        try:
            entries = os.scandir(os.path.join(work, folder))
        except OSError:
            continue
        with entries:
            for entry in entries:
                seen += 1
                if seen > _ENTRIES_MAX:
                    _note('only the first %d entries of output/ were scanned' % _ENTRIES_MAX)
                    return
                try:
                    facts = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                path = folder + b'/' + entry.name
                if stat.S_ISDIR(facts.st_mode):
                    folders.append(path)
                elif stat.S_ISREG(facts.st_mode):
                    yield path.decode('utf-8', 'surrogateescape'), facts.st_size


def _is_folder(path):
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_fit(path):
    """Whether the contract accepts the path of an artifact. A single rejected path invalidates the whole result."""
    return (
        not _UNFIT.search(path)
        and path.count('/') < 16
        and len(path.encode()) <= 1_024
        and all(len(name.encode()) <= 255 for name in path.split('/'))
    )


_UNFIT = re.compile(
    r'[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffd]'
    r'|[\U000e0000-\U000e007f\ud800-\udfff]'  # Invisible characters, reordering characters, or invalid UTF-8.
    r'|[\\:*?"<>|]|/ |[ .](?:/|\Z)'
    r'|/(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:[./]|\Z)',
    re.IGNORECASE,
)


def _note(text):
    try:
        print('proctor_tool: ' + text, file=sys.stderr, flush=True)
    except Exception:
        pass  # The result matters more than a note.


def _run_file(file, entry='run_tool', *arguments):
    """Runs a file that only defines its entry function. Unlike an import, writes no bytecode cache."""

    def call(input_dir, output_dir):
        sys.argv = [file, *arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
        # `import proctor_tool` in the tool must find this module: a second copy would define another UserError.
        sys.modules['proctor_tool'] = sys.modules[__name__]
        module = sys.modules['proctor_script'] = types.ModuleType('proctor_script')
        module.__file__ = file
        with open(file, 'rb') as source:
            exec(compile(source.read(), file, 'exec', dont_inherit=True), module.__dict__)
        tool = getattr(module, entry, None)
        if not callable(tool):
            _note('the tool has no function named %a' % entry)
            raise UserError('The tool has no function to run.')
        return tool(input_dir, output_dir)

    run(call)


if __name__ == '__main__':
    if len(sys.argv) < 2:
        print('usage: python3 -m proctor_tool FILE [ENTRY [ARGUMENT ...]]', file=sys.stderr)
        sys.exit(2)
    _run_file(*sys.argv[1:])
