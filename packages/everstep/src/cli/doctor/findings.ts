/** Results of `everstep doctor`. */

/** Names of the checks. They are stable, for programs that read the JSON. */
export type CheckName =
  | 'service'
  | 'versions'
  | 'store'
  | 'disk'
  | 'files'
  | 'backups'
  | 'clock'
  | 'tls'
  | 'addresses'
  | 'settings'
  | 'descriptors'
  | 'memory';

export interface Finding {
  readonly check: CheckName;
  /** `skipped` means that the check was not possible or does not apply. */
  readonly status: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly message: string;
  /** What the operator should do; null if nothing. */
  readonly fix: string | null;
}

type CreateWithFix = (message: string, fix: string) => Finding;
type CreateWithoutFix = (message: string) => Finding;

/** Returns functions that create the findings of one check. */
export const findingsOf = (
  check: CheckName,
): {
  readonly ok: CreateWithoutFix;
  readonly skipped: CreateWithoutFix;
  readonly warning: CreateWithFix;
  readonly problem: CreateWithFix;
} => ({
  ok: (message) => ({ check, status: 'ok', message, fix: null }),
  skipped: (message) => ({ check, status: 'skipped', message, fix: null }),
  warning: (message, fix) => ({ check, status: 'warning', message, fix }),
  problem: (message, fix) => ({ check, status: 'problem', message, fix }),
});
