/** Every page of the dashboard with its states. Tests open them with the runs of `DashboardHarness.seed`. */
import type { DashboardHarness, SeededRuns } from './dashboard.fixture.js';

/** Paths by name. `{...}` is replaced by a seeded id. */
export const PAGES: Readonly<Record<string, string>> = {
  overview: 'overview',
  'overview-month': 'overview?window=30d',
  workflow: 'workflow?url={order}',
  'workflow-failing': 'workflow?url={order}&window=1h&order=failing',
  'workflow-empty': 'workflow?url=worker%3A%2F%2Fnone%2Fnone',
  'workflow-missing': 'workflow',
  runs: 'runs',
  'runs-filtered': 'runs?state=RUN_FAILED&label=shop',
  'runs-empty': 'runs?q=no-such-thing',
  'run-good': 'runs/{good}',
  'run-failed': 'runs/{failed}',
  'run-waiting': 'runs/{waiting}',
  'run-retrying': 'runs/{retrying}',
  'run-long': 'runs/{long}',
  'run-missing': 'runs/wfr_none',
  compare: 'runs/{failed}/compare',
  'dead-letters': 'dead-letters',
  'dead-letters-entries': 'dead-letters?view=entries',
  'dead-letters-empty': 'dead-letters?workflowUrl=https%3A%2F%2Fnowhere.example%2F',
  'dead-letter-missing': 'dead-letters/dlq_none',
  repairs: 'repairs',
  'repair-new': 'repairs/new?label=shop&fromDate=1000',
  'repair-missing': 'repairs/rep_none',
  events: 'events',
  workers: 'workers',
  alerts: 'alerts',
  'flow-control': 'flow-control',
  schedules: 'schedules',
  queues: 'queues',
  instance: 'instance',
  team: 'team',
  search: 'search',
  audit: 'audit',
  nodes: 'nodes',
};

/** Returns the address of one of the pages. */
export const addressOf = (page: string, harness: DashboardHarness, seeded: SeededRuns): string =>
  page
    .replace('{order}', encodeURIComponent(harness.urls['/order']))
    .replace('{good}', seeded.good)
    .replace('{failed}', seeded.failed[0] ?? '')
    .replace('{waiting}', seeded.waiting)
    .replace('{retrying}', seeded.retrying)
    .replace('{long}', seeded.long);
