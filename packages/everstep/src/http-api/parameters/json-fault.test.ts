import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findJsonFault } from './json-fault.js';

const faultText = (json: string): string => {
  const fault = findJsonFault(json);
  return fault ? `${fault.kind} ${fault.path.join('.')} ${JSON.stringify(fault.word)}` : 'nothing';
};

test('finds a duplicate name in an object, whatever its notation', () => {
  for (const [json, expected] of [
    ['{"a":1,"a":1}', 'duplicate-name a "a"'],
    ['{"a":{"b":[1,{"c":1,"d":2,"c":3}]}}', 'duplicate-name a.b.1.c "c"'],
    ['{"a":1,"\\u0061":2}', 'duplicate-name a "a"'],
    ['[{"x\\"y":1,"x\\"y":2}]', 'duplicate-name 0.x"y "x\\"y"'],
    ['{"__proto__":1,"__proto__":2}', 'duplicate-name __proto__ "__proto__"'],
    ['{"":1 , "" :2}', 'duplicate-name  ""'],
  ] as const)
    assert.equal(faultText(json), expected, json);
});

test('finds an invalid value with its position', () => {
  for (const [json, expected] of [
    ['{"budget": NaN}', 'invalid-value budget "NaN"'],
    ['{"a":[1,2,-Infinity]}', 'invalid-value a.2 "-Infinity"'],
    ['[01]', 'invalid-value 0 "01"'],
    ['{"a":+1}', 'invalid-value a "+1"'],
    ['{"a":.5}', 'invalid-value a ".5"'],
    ['{"a":1.}', 'invalid-value a "1."'],
    ['{"a":0x10}', 'invalid-value a "0x10"'],
    ["{'a':1}", 'invalid-value  "\'a\'"'],
    ['{"a":undefined}', 'invalid-value a "undefined"'],
    ['tru', 'invalid-value  "tru"'],
  ] as const)
    assert.equal(faultText(json), expected, json);
});

test('finds no fault in valid JSON', () => {
  for (const json of [
    '{"a":{"a":[{"a":1},{"a":2}]},"b":"a","c":["a","a"]}',
    '{"a":"\\\\","b":"\\"a\\":1,\\"a\\":2"}',
    '[true,false,null,-1,0,1.5e-10,2E+3," "]',
    ' {\n"a"\t:\r"{[,:" } ',
    '""',
    '0',
  ]) {
    assert.doesNotThrow(() => JSON.parse(json), json);
    assert.equal(faultText(json), 'nothing', json);
    assert.equal(findJsonFault(json, { isJson: true }), null, json);
  }
  for (const cutOff of ['{"a', '{"a":', '[[[', '}}', ',,'] as const) assert.equal(faultText(cutOff), 'nothing', cutOff);
});
