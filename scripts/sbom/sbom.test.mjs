import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { billOfMaterials } from './bill.mjs';

const manifestOf = (name) => JSON.parse(readFileSync(new URL(`../../packages/${name}/package.json`, import.meta.url), 'utf8'));

test('the bill of materials lists the shipped packages with hashes and licenses, and is reproducible', () => {
  const bill = billOfMaterials();
  assert.deepEqual(billOfMaterials(), bill);
  assert.deepEqual([bill.bomFormat, bill.metadata.component.name], ['CycloneDX', 'everstep']);
  const names = bill.components.map(({ 'bom-ref': ref }) => ref.slice(0, ref.lastIndexOf('@')));
  for (const name of Object.keys(manifestOf('everstep').dependencies)) assert.ok(names.includes(name), name);
  // Bundled into the dashboard, in the place of React.
  assert.ok(names.includes('preact'));
  assert.ok(!names.includes('react') && !names.includes('react-dom'));
  for (const name of ['typescript', 'rolldown', '@biomejs/biome', 'playwright-core']) assert.ok(!names.includes(name), name);
  for (const { 'bom-ref': ref, hashes, licenses } of bill.components)
    assert.ok(licenses?.length > 0 && (hashes?.length > 0 || ref.startsWith('@everstep/')), ref);
});
