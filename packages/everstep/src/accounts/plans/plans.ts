/**
 * Plans are named sets of limits. Two are built in, and the operator's plans file can replace them and add others.
 * `default` has only the limits of the server. `standard` is for instances that users other than the operator
 * create.
 */
import { parseJson } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { QueueInstance } from '../../ports/stores/account-store.js';
import type { Plan } from '../account-service.js';

export const DEFAULT_PLAN_NAME = 'default';
export const STANDARD_PLAN_NAME = 'standard';
/** Default price in dollars per 100,000 messages. */
const DEFAULT_PRICE = 1;
const MAX_PRICE = 1_000_000;
const MAX_PLANS = 100;
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

type LimitName = Exclude<keyof Plan, 'name' | 'pricePer100kMessages'>;

/** Minimum and maximum of each limit. */
const RANGES: Readonly<Record<LimitName, readonly [min: number, max: number]>> = {
  maxMessageBytes: [1, LIMITS.maxBodyBytes],
  logRetentionMs: [MINUTE_MS, LIMITS.maxRetentionAgeMs],
  deadLetterRetentionMs: [MINUTE_MS, LIMITS.maxRetentionAgeMs],
  maxParallelism: [1, LIMITS.maxDeliveriesInFlight],
  maxSchedules: [0, LIMITS.maxSchedules],
  maxRequestsPerDay: [0, 1_000_000_000],
  apiCallsPerSecond: [1, 1_000_000],
  maxTimeoutMs: [SECOND_MS, LIMITS.maxDeliveryTimeoutMs],
  maxQueues: [0, LIMITS.maxQueues],
  maxUrlGroups: [0, LIMITS.maxUrlGroups],
  maxFlowControlKeys: [0, LIMITS.maxFlowControlKeys],
  maxStoredBytes: [0, Number.MAX_SAFE_INTEGER],
  maxActiveRuns: [1, 1_000_000_000],
  maxInstances: [1, LIMITS.maxInstances],
  maxSearchIndexes: [0, LIMITS.maxSearchIndexes],
  maxTeams: [0, LIMITS.maxTeams],
  maxTeamMembers: [1, LIMITS.maxTeamMembers],
};

const UNLIMITED: Plan = Object.freeze({
  name: DEFAULT_PLAN_NAME,
  maxMessageBytes: null,
  logRetentionMs: null,
  deadLetterRetentionMs: null,
  maxParallelism: null,
  maxSchedules: null,
  maxRequestsPerDay: null,
  apiCallsPerSecond: null,
  maxTimeoutMs: null,
  maxQueues: null,
  maxUrlGroups: null,
  maxFlowControlKeys: null,
  maxStoredBytes: null,
  maxActiveRuns: null,
  maxInstances: null,
  maxSearchIndexes: null,
  maxTeams: null,
  maxTeamMembers: null,
  pricePer100kMessages: DEFAULT_PRICE,
});

const STANDARD: Plan = Object.freeze({
  ...UNLIMITED,
  name: STANDARD_PLAN_NAME,
  maxMessageBytes: MIB,
  logRetentionMs: 30 * DAY_MS,
  deadLetterRetentionMs: 90 * DAY_MS,
  maxParallelism: 100,
  maxSchedules: 1_000,
  maxRequestsPerDay: 1_000_000,
  apiCallsPerSecond: 200,
  maxTimeoutMs: HOUR_MS,
  maxQueues: 1_000,
  maxUrlGroups: 1_000,
  maxFlowControlKeys: 10_000,
  maxStoredBytes: 10 * GIB,
  maxActiveRuns: 100_000,
  maxInstances: 20,
  maxSearchIndexes: 20,
  maxTeams: 10,
  maxTeamMembers: 100,
});

export interface Plans {
  /** `default` first, then `standard`, then the others in file order. */
  readonly all: readonly Plan[];
  /** Plan for an instance that a user other than the operator creates. */
  readonly planForNewInstances: Plan;
  /** Returns null if the plan does not exist. */
  find(name: string): Plan | null;
  /** Returns the plan of the instance, or the default plan if it has none or the plan is no longer in the file. */
  planOf(instance: Pick<QueueInstance, 'plan'>): Plan;
}

export type LoadedPlans =
  | { readonly ok: true; readonly plans: Plans }
  /** Sentences that explain the problems to the operator. */
  | { readonly ok: false; readonly problems: readonly string[] };

function plansOf(filePlans: readonly Plan[]): Plans {
  const byName = new Map([UNLIMITED, STANDARD, ...filePlans].map((plan) => [plan.name, plan]));
  const defaultPlan = byName.get(DEFAULT_PLAN_NAME) ?? UNLIMITED;
  const isInFile = (planName: string) => filePlans.some(({ name }) => name === planName);
  // An operator's own default plan also applies to new instances.
  const newInstancePlanName =
    isInFile(DEFAULT_PLAN_NAME) && !isInFile(STANDARD_PLAN_NAME) ? DEFAULT_PLAN_NAME : STANDARD_PLAN_NAME;
  return {
    all: Object.freeze([...byName.values()]),
    planForNewInstances: byName.get(newInstancePlanName) ?? defaultPlan,
    find: (name) => byName.get(name) ?? null,
    planOf: ({ plan }) => (plan === undefined ? defaultPlan : (byName.get(plan) ?? defaultPlan)),
  };
}

/** Plans of an installation without a file. */
export const BUILT_IN_PLANS: Plans = Object.freeze(plansOf([]));

/** Returns the same plans with another plan for new instances, or null if that plan does not exist. */
export function setPlanForNewInstances(plans: Plans, name: string): Plans | null {
  const planForNewInstances = plans.find(name);
  return planForNewInstances && { ...plans, planForNewInstances };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readLimit(
  entry: Readonly<Record<string, unknown>>,
  limitName: LimitName,
  reportProblem: (text: string) => void,
): number | null {
  const value = entry[limitName] ?? null;
  if (value === null) return null;
  const [min, max] = RANGES[limitName];
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  reportProblem(`${limitName} must be a whole number from ${min} to ${max}, or null for no limit`);
  return null;
}

function readPrice(entry: Readonly<Record<string, unknown>>, reportProblem: (text: string) => void): number {
  const value = entry.pricePer100kMessages ?? DEFAULT_PRICE;
  if (typeof value === 'number' && value >= 0 && value <= MAX_PRICE) return value;
  reportProblem(`pricePer100kMessages must be a number of dollars from 0 to ${MAX_PRICE}`);
  return DEFAULT_PRICE;
}

function readPlan(entry: unknown, reportProblem: (text: string) => void): Plan | null {
  if (!isObject(entry)) {
    reportProblem('must be an object');
    return null;
  }
  const { name } = entry;
  if (typeof name !== 'string' || !NAME.test(name)) {
    reportProblem('name must consist of 1 to 64 lowercase letters, digits and hyphens, and must not start with a hyphen');
    return null;
  }
  for (const key of Object.keys(entry)) if (!(key in UNLIMITED)) reportProblem(`${key} is not a known field of a plan`);
  const limit = (limitName: LimitName): number | null => readLimit(entry, limitName, reportProblem);
  return Object.freeze({
    name,
    maxMessageBytes: limit('maxMessageBytes'),
    logRetentionMs: limit('logRetentionMs'),
    deadLetterRetentionMs: limit('deadLetterRetentionMs'),
    maxParallelism: limit('maxParallelism'),
    maxSchedules: limit('maxSchedules'),
    maxRequestsPerDay: limit('maxRequestsPerDay'),
    apiCallsPerSecond: limit('apiCallsPerSecond'),
    maxTimeoutMs: limit('maxTimeoutMs'),
    maxQueues: limit('maxQueues'),
    maxUrlGroups: limit('maxUrlGroups'),
    maxFlowControlKeys: limit('maxFlowControlKeys'),
    maxStoredBytes: limit('maxStoredBytes'),
    maxActiveRuns: limit('maxActiveRuns'),
    maxInstances: limit('maxInstances'),
    maxSearchIndexes: limit('maxSearchIndexes'),
    maxTeams: limit('maxTeams'),
    maxTeamMembers: limit('maxTeamMembers'),
    pricePer100kMessages: readPrice(entry, reportProblem),
  });
}

/**
 * Reads the text of a plans file, `{"plans": [{"name": ..., ...}]}`. All plans are valid, or none is loaded. Never
 * throws.
 */
export function loadPlans(text: string): LoadedPlans {
  let file: unknown;
  try {
    file = parseJson(text);
  } catch (error) {
    return { ok: false, problems: [`the file is not JSON: ${error instanceof Error ? error.message : String(error)}`] };
  }
  if (!isObject(file) || !Array.isArray(file.plans) || Object.keys(file).length !== 1) {
    return { ok: false, problems: ['the file must be an object with the array "plans" and no other field'] };
  }
  if (file.plans.length > MAX_PLANS) return { ok: false, problems: [`the file can have at most ${MAX_PLANS} plans`] };
  const problems: string[] = [];
  const plans: Plan[] = [];
  for (const [index, entry] of file.plans.entries()) {
    const plan = readPlan(entry, (problem) => problems.push(`plan ${index + 1}: ${problem}`));
    if (plan && plans.some(({ name }) => name === plan.name))
      problems.push(`plan ${index + 1}: the name ${plan.name} is already used`);
    if (plan) plans.push(plan);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, plans: plansOf(plans) };
}
