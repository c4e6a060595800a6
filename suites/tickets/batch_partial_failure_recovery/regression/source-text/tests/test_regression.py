import ast
import inspect

from batch import processor


def test_exceptions_are_caught():
    nodes = list(ast.walk(ast.parse(inspect.getsource(processor))))
    assert any(isinstance(node, (ast.Try, ast.With)) for node in nodes)
