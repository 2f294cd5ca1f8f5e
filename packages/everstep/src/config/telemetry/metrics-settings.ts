/** Settings of the metrics. */
import { type ListenAddress, parseListenAddress } from '../listen-values.js';
import type { Setting } from '../setting.js';

const DEFAULT_METRIC_NAMES = 50;
const MAX_METRIC_NAMES = 1_000;

function parseMetricNames(text: string): number {
  const count = Number(text);
  if (!/^\d{1,4}$/.test(text) || count > MAX_METRIC_NAMES)
    throw new Error(`must be a whole number from 0 to ${MAX_METRIC_NAMES}`);
  return count;
}

const MIN_SECRET_LENGTH = 32;

function parseLongSecret(text: string): string {
  if (text.length < MIN_SECRET_LENGTH || !/^[!-~]+$/.test(text))
    throw new Error(`must have at least ${MIN_SECRET_LENGTH} printable characters without spaces`);
  return text;
}

/** Declares a setting with the type of its value. */
const setting = <Value>(declaration: Setting<Value>): Setting<Value> => declaration;

export const METRICS_SETTINGS = {
  metricsAddress: setting<ListenAddress | null>({
    env: 'EVERSTEP_METRICS_ADDRESS',
    flag: '--metrics-address <address>',
    option: 'metricsAddress',
    help: 'separate port or address:port that serves /metrics without a token',
    defaultText: 'none',
    fallback: () => null,
    parse: parseListenAddress,
  }),
  metricsToken: setting<string | null>({
    env: 'EVERSTEP_METRICS_TOKEN',
    flag: '--metrics-token <token>',
    option: 'metricsToken',
    help: 'token for /metrics on the port of the API, at least 32 characters',
    defaultText: 'none: /metrics is not served there',
    isSecret: true,
    fallback: () => null,
    parse: parseLongSecret,
  }),
  metricsNames: setting<number>({
    env: 'EVERSTEP_METRICS_NAMES',
    flag: '--metrics-names <count>',
    option: 'metricsNames',
    help: 'maximum number of workflows, flow control keys, queues and apps with their own time series; the others share "other"',
    defaultText: String(DEFAULT_METRIC_NAMES),
    fallback: () => DEFAULT_METRIC_NAMES,
    parse: parseMetricNames,
  }),
};
