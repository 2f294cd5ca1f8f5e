/**
 * Settings of a run, and which of them are passed on to runs that continue it. A fork and a schedule keep all settings.
 * Code for a resume, a restart, a trigger or an invocation that does not handle every setting does not compile.
 */

import type { TraceContext } from '@everstep/sdk/protocol';

export interface FlowControl {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Length of a rate window. Present exactly when `rate` is. */
  readonly periodMs?: number;
}

/**
 * A message that reports the outcome of a run or of another message. Absent settings take the value of the run, or
 * the default.
 */
export interface FailureCallback {
  readonly url: string;
  /** Headers to send with the callback (`Failure-Callback-Forward-*` without the prefix). */
  readonly headers: Readonly<Record<string, string>>;
  /** HTTP method. Default: POST. */
  readonly method?: string;
  readonly maxRetries?: number;
  readonly retryDelay?: string;
  readonly timeoutMs?: number;
  /** Delay before the first attempt, in ms. */
  readonly delayMs?: number;
}

/**
 * Settings that make a run a plain message: one request, no code, no journal. Its URL, body and headers are those of
 * the run.
 */
export interface MessageSettings {
  readonly method: string;
  /** The queue in which it keeps its position. */
  readonly queue?: string;
  /** The URL group that it was published to, and the name of the endpoint in it. */
  readonly urlGroup?: string;
  readonly endpointName?: string;
  /** Id of the schedule that published the message. */
  readonly scheduleId?: string;
  /** Earliest time of its first attempt, Unix ms. */
  readonly notBefore?: number;
  /** Receives every response, as a separate message. */
  readonly callback?: FailureCallback;
  /** The alert destination, if the message is a notice. Its current address is read when the message is sent. */
  readonly destination?: string;
  /** The message whose response this one reports. */
  readonly callbackOf?: string;
}

/** Data that logs, dead letters and other views hide. */
export interface Redaction {
  /** The body of the trigger, and the results of the steps and of the run. */
  readonly body: boolean;
  /** Forwarded headers: all, or those with these lowercase names. */
  readonly headers: true | readonly string[];
  /** Fields of JSON bodies and results, at any depth. */
  readonly fields: readonly string[];
}

/** How the protocol of an endpoint handles steps. */
export interface StepRules {
  /** Whether the code continues only when all steps that were planned together are recorded. A call before that has no effect. */
  readonly joined: boolean;
  /** Whether the endpoint needs no introduction before its first step is requested, or has introduced itself. */
  readonly introduced: boolean;
}

/** The trace context that a run was created with. */
export interface RunTrace extends TraceContext {
  /** Whether the run starts a separate trace, which only links to this context. */
  readonly isLinked?: true;
}

/** Settings of a run. A trigger sets them, and a resume or restart can override them. */
export interface RunSettings {
  readonly maxRetries: number;
  /** Source of the retry delay expression (its value is in ms), or null for the default backoff. */
  readonly retryDelay: string | null;
  /** Maximum duration of one delivery to the workflow endpoint. */
  readonly deliveryTimeoutMs: number;
  readonly labels: readonly string[];
  readonly flowControl: FlowControl | null;
  readonly failureCallback: FailureCallback | null;
  readonly redact?: Redaction;
  /**
   * How the protocol handles steps. Absent for the native protocol, in which code continues with any recorded step and needs
   * no introduction.
   */
  readonly steps?: StepRules;
  /** Trace context of the run. If absent, the run starts a separate trace, provided that it is traced at all. */
  readonly trace?: RunTrace;
  /** Settings of a plain message. Present only if the run is one. */
  readonly message?: MessageSettings;
}

/** A value for each setting, so that none is forgotten; undefined for an optional setting that the run does not have. */
export type EverySetting = { readonly [Name in keyof Required<RunSettings>]: RunSettings[Name] };

/** Returns the settings without those that are undefined. */
export const settingsFrom = (settings: EverySetting): RunSettings =>
  // Only optional settings can be undefined.
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as typeof settings;

/** What a resume or restart does with each setting. The override of a `combined` setting differs in form from the setting. */
const RECOVERY_RULES = {
  maxRetries: 'overridable',
  retryDelay: 'overridable',
  deliveryTimeoutMs: 'kept',
  labels: 'overridable',
  flowControl: 'combined',
  failureCallback: 'overridable',
  redact: 'kept',
  steps: 'kept',
  trace: 'kept',
  message: 'kept',
} as const satisfies Readonly<Record<keyof RunSettings, 'kept' | 'overridable' | 'combined'>>;

type OverridableName = {
  [Name in keyof RunSettings]-?: (typeof RECOVERY_RULES)[Name] extends 'overridable' ? Name : never;
}[keyof RunSettings];
// Object.keys returns the names of the table, and the filter selects those that can be overridden.
const OVERRIDABLE_NAMES = Object.keys(RECOVERY_RULES).filter(
  (name) => RECOVERY_RULES[name as keyof RunSettings] === 'overridable',
) as readonly OverridableName[];

/** Settings that a resume or restart replaces. */
export type Overrides = { readonly [Name in OverridableName]?: NonNullable<RunSettings[Name]> } & {
  readonly delayMs?: number;
  readonly flowControlKey?: string;
  /** Limits without the key. They apply to the run's own key if `flowControlKey` is absent. */
  readonly flowControlLimits?: Omit<FlowControl, 'key'>;
};

function overriddenFlowControl(original: FlowControl | null, overrides: Overrides): FlowControl | null | 'no-key' {
  const { flowControlKey: key, flowControlLimits: limits } = overrides;
  if (key === undefined && limits === undefined) return original;
  if (key === undefined && original === null) return 'no-key';
  const { key: originalKey = '', ...originalLimits } = original ?? {};
  return { key: key ?? originalKey, ...(limits ?? originalLimits) };
}

/** Returns whether the overrides set limits, or another key, which then has the limits of the failed run. */
export const overridesLimits = ({ flowControl }: RunSettings, { flowControlKey, flowControlLimits }: Overrides): boolean =>
  flowControlLimits !== undefined || (flowControlKey !== undefined && flowControlKey !== flowControl?.key);

/** Returns the settings of a run that is resumed or restarted: all settings of the failed run, except those overridden. */
export function recoveredSettings(settings: RunSettings, overrides: Overrides): RunSettings | 'no-flow-control-key' {
  const flowControl = overriddenFlowControl(settings.flowControl, overrides);
  if (flowControl === 'no-key') return 'no-flow-control-key';
  const replacements = OVERRIDABLE_NAMES.flatMap((name) =>
    overrides[name] === undefined ? [] : [[name, overrides[name]] as const],
  );
  return { ...settings, ...Object.fromEntries(replacements), flowControl };
}
