import { test, expect } from 'vitest';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { readCases } from '../../src/run/suite/cases-file.ts';
import { temporaryFolder } from '../support.ts';
test('try', () => {
  const f = temporaryFolder();
  const go = (name: string, text: string) => {
    const file = path.join(f, name);
    writeFileSync(file, text);
    try {
      const l: unknown[] = [];
      readCases(file, c => l.push(c));
      console.log(name, JSON.stringify(l));
    } catch (e) {
      console.log(name, (e as Error).message, e instanceof Error && e.name !== 'Fault' ? e.stack : '');
    }
  };
  go('a.json', '[{"id": 12, "expected": {"contains": "x"}},\n {"id": "b"}]');
  go(
    'b.json',
    '{"suite": "s",\n"sute": 1, "cases": [\n{"id": 12, "expected": {\n"must_inclde": "x", "regex": ["a", "("]}},\n {"id": "B"}, {"id":\n"b"}, 3, {"title": 3, "id": "run", "__proto__": 3}]}',
  );
  go(
    'b.jsonl',
    '{"id": 12, "expected": {"must_inclde": "x", "regex": ["a", "("]}}\n\n {"id": "B"}\r\n {"id":"b"}\n 3\n {"title": 3, "id": "run", "__proto__": 3}\n{\n',
  );
  go(
    'b.yaml',
    'suite: s\nsute: 1\ncases:\n- id: 012\n  expected:\n    must_inclde: x\n    regex:\n    - a\n    - (\n- id: B\n- title: x\n  id: b\n- 3\n- {title: 3, id: run, __proto__: 3}\n- id: c\n  id: d\n',
  );
  go(
    'c.yaml',
    '- id: 012\n  input: {user: *x}\n- id: &a {b: *a}\n- id: b\n  metadata: &x {<<: 3, n: 3}\n- id: c\n  metadata: *x\n- !foo bar\n',
  );
  go(
    'b.csv',
    'id,title,user,context,expected,expected.regex,expected.max_steps\r\n12,"a ""b""\nc",hello,"{""a"":1}",,(,\r\n12,a,b,c,"{""regexp"":3}","[""a"",""(""]",x\r\nc,a,b\r\n',
  );
});
