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
  /** `skipped`: it could not be checked, or does not apply. */
  readonly status: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly message: string;
  /** What to do; null if nothing. */
  readonly fix: string | null;
}

type Make = (message: string, fix: string) => Finding;
type MakeDone = (message: string) => Finding;

/** Returns functions that make the findings of one check. */
export const findingsOf = (
  check: CheckName,
): { readonly ok: MakeDone; readonly skipped: MakeDone; readonly warning: Make; readonly problem: Make } => ({
  ok: (message) => ({ check, status: 'ok', message, fix: null }),
  skipped: (message) => ({ check, status: 'skipped', message, fix: null }),
  warning: (message, fix) => ({ check, status: 'warning', message, fix }),
  problem: (message, fix) => ({ check, status: 'problem', message, fix }),
});
