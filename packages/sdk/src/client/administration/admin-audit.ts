/** Client for the audit log of all accounts, for operators (management API). */
import type { AuditExportLine, AuditVerification } from '../generated/index.js';
import type { Call } from '../transport.js';

/** Filters for exporting the audit log. */
export interface AuditExportOptions {
  /** Only entries at or after this time. A number is in Unix milliseconds. */
  readonly from?: Date | number;
  /** Only entries at or before this time. A number is in Unix milliseconds. */
  readonly to?: Date | number;
  /** Only entries after the one with this `seq`. */
  readonly after?: number;
}

/** Options for verifying the audit log. */
export interface AuditVerifyOptions {
  /** Continues an earlier call. Pass `next` of its result. */
  readonly after?: number;
  /** `seq:hash` of an entry that you saved elsewhere. The result then reports whether the chain still contains it. */
  readonly known?: string;
}

/** Operations on the audit log of all accounts. For operators only. */
export class AuditLog {
  private readonly call: <T>(call: Call) => Promise<T>;
  private readonly callText: (call: Call) => Promise<string>;

  constructor(call: <T>(call: Call) => Promise<T>, callText: (call: Call) => Promise<string>) {
    this.call = call;
    this.callText = callText;
  }

  /**
   * Returns one page of the export, oldest entries first; an empty page at the end. `count` is the number of entries
   * per page.
   */
  async exportPage(options: AuditExportOptions & { readonly count?: number } = {}): Promise<readonly AuditExportLine[]> {
    const { from, to, after, count } = options;
    const text = await this.callText({ method: 'GET', path: '/v2/audit/export', query: { from, to, after, count } });
    // The server guarantees the shapes of its responses.
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditExportLine]));
  }

  /** Returns all entries, oldest first, fetching page after page. */
  async *export(options: AuditExportOptions = {}): AsyncGenerator<AuditExportLine, void, undefined> {
    let { after } = options;
    for (;;) {
      const page = await this.exportPage({ ...options, ...(after === undefined ? {} : { after }) });
      const lastEntry = page.at(-1);
      if (!lastEntry) return;
      yield* page;
      after = lastEntry.seq;
    }
  }

  /** Verifies a few thousand entries against the hash chain. To continue, pass `next` of the result as `after`. */
  verifyPage(options: AuditVerifyOptions = {}): Promise<AuditVerification> {
    const { after, known } = options;
    return this.call({ method: 'GET', path: '/v2/audit/verify', query: { after, known } });
  }

  /** Verifies all entries, fetching page after page. Returns the faults of all pages. */
  async verify(options: Pick<AuditVerifyOptions, 'known'> = {}): Promise<AuditVerification> {
    const firstPage = await this.verifyPage(options);
    let [lastPage, checked, faults] = [firstPage, firstPage.checked, [...firstPage.faults]];
    while (lastPage.next !== null) {
      lastPage = await this.verifyPage({ after: lastPage.next });
      checked += lastPage.checked;
      faults = [...faults, ...lastPage.faults];
    }
    return { ...firstPage, checked, faults, next: null, head: lastPage.head };
  }
}
