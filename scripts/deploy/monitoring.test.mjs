// Compares deploy/monitoring/ with the metrics of the server and with the page about alerts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { METRICS } from '../../packages/everstep/dist/metrics/definitions.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path) => readFileSync(join(ROOT, path), 'utf8');

const RULES = 'deploy/monitoring/alerts.yaml';
const DASHBOARD = 'deploy/monitoring/dashboard.json';
const PAGE = 'docs/operations/alerts.md';
const rules = parse(read(RULES)).groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(read(DASHBOARD));
const targets = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

/** Suffixes of the time series of a histogram. */
const PARTS = /_(?:bucket|sum|count)$/;

/** Returns the problems of an expression: unknown metrics, and labels that a metric does not have. */
function problemsOf(expr) {
  const problems = [];
  for (const [, name, selector = '', modifier = ''] of expr.matchAll(/\b(everstep_\w+)(?:\{([^}]*)\})?(\[[^\]]*\])?/g)) {
    const metric = METRICS[name] ?? METRICS[name.replace(PARTS, '')];
    if (!metric) problems.push(`${name} is not a metric`);
    if (PARTS.test(name) && metric?.type !== 'histogram') problems.push(`${name} is not a histogram`);
    if (metric?.type === 'counter' && modifier === '') problems.push(`${name} is a counter, and needs a range`);
    for (const [, label] of selector.matchAll(/(\w+)\s*[=!]/g))
      if (!['job', 'instance', ...(metric?.labels ?? [])].includes(label)) problems.push(`${name} has no label ${label}`);
  }
  return problems;
}

test('every expression uses metrics and labels that exist', () => {
  assert.ok(rules.length > 10 && targets.length > 20);
  const found = [...rules.map(({ alert, expr }) => [alert, expr]), ...targets.map(({ title, expr }) => [title, expr])];
  assert.deepEqual(
    found.flatMap(([where, expr]) => problemsOf(expr).map((problem) => `${where}: ${problem}`)),
    [],
  );
  assert.deepEqual(problemsOf('rate(everstep_gone_total[5m]) + everstep_commits_total{color="red"}').length, 3);
});

test('every alert has a section on the page about alerts, and every section has an alert', () => {
  const sections = [...read(PAGE).matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  assert.deepEqual(
    sections,
    rules.map(({ alert }) => alert),
  );
  for (const { alert, annotations, labels } of rules) {
    assert.equal(annotations.runbook_url, `${PAGE}#${alert.toLowerCase()}`);
    assert.ok(annotations.summary.length > 10 && ['warning', 'critical'].includes(labels.severity), alert);
  }
});

test('the Grafana dashboard shows every metric, except the labels of the process', () => {
  const shown = targets.map(({ expr }) => expr).join(' ');
  const missing = Object.keys(METRICS).filter((name) => !new RegExp(`\\b${name}(?:_bucket)?\\b`).test(shown));
  assert.deepEqual(missing, ['everstep_info']);
});

test('panels have unique ids and do not overlap', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  assert.equal(new Set(cells).size, cells.length);
});

const promtool = process.env.EVERSTEP_TEST_PROMTOOL ?? 'promtool';
const hasPromtool = spawnSync(promtool, ['--version']).status === 0;

test('promtool accepts the rules', { skip: hasPromtool ? false : 'promtool is not installed' }, () => {
  const { status, stderr } = spawnSync(promtool, ['check', 'rules', join(ROOT, RULES)], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});
