/** Parses limits of a flow control key: `parallelism=5, rate=100, period=1m`. */
import { wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';

export interface FlowControlLimits {
  readonly parallelism?: number;
  readonly rate?: number;
  /** A duration such as `30s`. */
  readonly period?: string;
}

/** Returns the limits in the value of the option `name`; none if `text` is undefined. Throws UsageError if it is invalid. */
export function flowControlLimits(name: string, text: string | undefined): FlowControlLimits {
  if (text === undefined) return {};
  let limits: FlowControlLimits = {};
  for (const part of text.split(',')) {
    const [key = '', value = ''] = part.split('=').map((side) => side.trim());
    if (key === 'parallelism') limits = { ...limits, parallelism: wholeNumber(`${name} parallelism`, 1)(value) };
    else if (key === 'rate') limits = { ...limits, rate: wholeNumber(`${name} rate`, 1)(value) };
    else if (key === 'period' && value !== '') limits = { ...limits, period: value };
    else throw new UsageError(`${name} must be "parallelism=<n>, rate=<n>, period=<duration>"; got "${text}"`);
  }
  return limits;
}
