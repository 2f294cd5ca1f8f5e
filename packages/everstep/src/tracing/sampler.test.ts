import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SAMPLERS } from '../config/telemetry/tracing-settings.js';
import { createSampler } from './sampler.js';
import { traceIdOf } from './span-ids.js';

const IDS = Array.from({ length: 2_000 }, (_, n) => traceIdOf(`run ${n}`));
const share = (sampler: ReturnType<typeof createSampler>) => IDS.filter((id) => sampler(id, null)).length / IDS.length;

test('a ratio samples that share of the traces, and a larger ratio samples the same traces and more', () => {
  const [tenth, half] = [createSampler('traceidratio', 0.1), createSampler('parentbased_traceidratio', 0.5)];
  assert.ok(Math.abs(share(tenth) - 0.1) < 0.03, String(share(tenth)));
  assert.ok(Math.abs(share(half) - 0.5) < 0.05, String(share(half)));
  for (const id of IDS) assert.ok(!tenth(id, null) || half(id, null));
  assert.equal(share(createSampler('traceidratio', 0)), 0);
  assert.equal(share(createSampler('traceidratio', 1)), 1);
});

test('only parent-based samplers follow the decision of the caller', () => {
  for (const name of SAMPLERS) {
    const sampler = createSampler(name, 0.5);
    const [id = ''] = IDS;
    const own = sampler(id, null);
    const isParentBased = name.startsWith('parentbased');
    assert.equal(sampler(id, !own), isParentBased ? !own : own, name);
    assert.equal(own, name.endsWith('always_on') || (name.endsWith('ratio') && own), name);
  }
});
