/** The audit log of all accounts, for operators, as calls of the management API. */
import type { AuditExportLine, AuditVerification } from './admin-types.js';
import type { Call } from './transport.js';

export interface AuditExportOptions {
  /** Only entries of this time or later. */
  readonly from?: Date | number;
  /** Only entries of this time or earlier. */
  readonly to?: Date | number;
  /** Only entries behind the one with this `seq`. */
  readonly after?: number;
}

export interface AuditVerifyOptions {
  /** Continues after an earlier call: its `next`. */
  readonly after?: number;
  /** `seq:hash` of an entry that was noted elsewhere: the answer also says whether the chain still has it. */
  readonly known?: string;
}

/** For operators. */
export class AuditLog {
  private readonly call: <T>(call: Call) => Promise<T>;
  private readonly callText: (call: Call) => Promise<string>;

  constructor(call: <T>(call: Call) => Promise<T>, callText: (call: Call) => Promise<string>) {
    this.call = call;
    this.callText = callText;
  }

  /** A page of the export, oldest first; empty at the end. `count`: entries of the page. */
  async exportPage(options: AuditExportOptions & { readonly count?: number } = {}): Promise<readonly AuditExportLine[]> {
    const { from, to, after, count } = options;
    const text = await this.callText({ method: 'GET', path: '/v2/audit/export', query: { from, to, after, count } });
    // The shapes of the answers are the word of the service.
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditExportLine]));
  }

  /** All of it, oldest first; asks for page after page. */
  async *export(options: AuditExportOptions = {}): AsyncGenerator<AuditExportLine, void, undefined> {
    let { after } = options;
    for (;;) {
      const page = await this.exportPage({ ...options, ...(after === undefined ? {} : { after }) });
      const last = page.at(-1);
      if (!last) return;
      yield* page;
      after = last.seq;
    }
  }

  /** Checks some thousands of entries against the hash chain; give `next` as `after` for the others. */
  verifyPage(options: AuditVerifyOptions = {}): Promise<AuditVerification> {
    const { after, known } = options;
    return this.call({ method: 'GET', path: '/v2/audit/verify', query: { after, known } });
  }

  /** Checks all of it; asks for page after page. The faults of all pages together. */
  async verify(options: Pick<AuditVerifyOptions, 'known'> = {}): Promise<AuditVerification> {
    const first = await this.verifyPage(options);
    let [last, checked, faults] = [first, first.checked, [...first.faults]];
    while (last.next !== null) {
      last = await this.verifyPage({ after: last.next });
      checked += last.checked;
      faults = [...faults, ...last.faults];
    }
    return { ...first, checked, faults, next: null, head: last.head };
  }
}
