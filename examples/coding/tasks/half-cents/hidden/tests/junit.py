"""Runs the tests that are named as arguments, and writes junit.xml. unittest itself writes no report."""

import sys
import unittest
from xml.etree import ElementTree


class Report(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.suite = ElementTree.Element("testsuite")

    def startTest(self, test):
        super().startTest(test)
        name = test.id().rsplit(".", 1)[-1].removeprefix("test_").replace("_", " ")
        self.case = ElementTree.SubElement(self.suite, "testcase", classname=type(test).__name__, name=name)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        ElementTree.SubElement(self.case, "failure", message=str(err[1])[:500])

    def addError(self, test, err):
        super().addError(test, err)
        ElementTree.SubElement(self.case, "error", message=str(err[1])[:500])


result = unittest.TextTestRunner(resultclass=Report).run(unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:]))
ElementTree.ElementTree(result.suite).write("junit.xml", encoding="utf-8", xml_declaration=True)
sys.exit(not result.wasSuccessful())
