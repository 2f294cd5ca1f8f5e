/** Rules open and end alerts. At most one alert is open for a rule and a subject. */
import type { AlertKind } from './alert-settings.js';

/** Details of an alert. Their values depend on the kind of the rule. */
export interface AlertDetails {
  /** One human-readable sentence. */
  readonly summary: string;
  readonly workflowUrl?: string;
  /** The run that caused the last occurrence. */
  readonly workflowRunId?: string;
  readonly stepName?: string;
  readonly fingerprint?: string;
  readonly error?: string;
}

/** An alert. Times are Unix ms. */
export interface Alert {
  readonly alertId: string;
  /** Name of the rule. */
  readonly rule: string;
  readonly kind: AlertKind;
  /** The object that the rule found, such as the URL of a workflow. */
  readonly subject: string;
  readonly openedAt: number;
  /** When the condition was last met. */
  readonly lastAt: number;
  /** Time when the alert ended; null while it is open. */
  readonly endedAt: number | null;
  /** Number of times the condition was met. */
  readonly occurrences: number;
  readonly details: AlertDetails;
  /** The notice that is still to be sent; null if there is none. */
  readonly notice: NoticeKind | null;
  /** When the pending notice is due; null if there is none. */
  readonly notifyAt: number | null;
  /** When the last notice was sent; null if none has been sent. */
  readonly notifiedAt: number | null;
}

export const NOTICE_KINDS = ['opened', 'ended'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** An alert as it will be stored. */
export interface AlertChange {
  /** Whether the alert is not stored yet. */
  readonly isNew: boolean;
  readonly alert: Alert;
}
