/** `everstep audit export|verify`: the audit log of all accounts, for operators. */
import { Command } from 'commander';
import { timestampMs, wholeNumber } from '../../arguments.js';
import { UsageError } from '../../exit-codes.js';
import { countText, json, jsonLine, type Shell } from '../../output.js';
import { type AdminOptions, openAdmin, withAdminConnection } from '../admin/admin-connection.js';

interface ExportOptions extends AdminOptions {
  /** Unix ms. */
  readonly from?: number;
  /** Unix ms. */
  readonly to?: number;
  readonly after?: number;
}

function exportCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('export'))
    .description('Print the audit log of all accounts as NDJSON, oldest first.')
    .option('--from <time>', 'entries at or after this time: ISO 8601 or Unix ms', timestampMs('--from'))
    .option('--to <time>', 'entries at or before this time', timestampMs('--to'))
    .option('--after <seq>', 'entries after the one with this sequence number', wholeNumber('--after', 0));
  return command.action(async () => {
    const { admin, options } = await openAdmin<ExportOptions>(command, shell);
    const { from, to, after } = options;
    const filters = {
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      ...(after === undefined ? {} : { after }),
    };
    for await (const entry of admin.audit.export(filters)) screen.write(jsonLine(entry));
  });
}

interface VerifyOptions extends AdminOptions {
  readonly known?: string;
}

const KNOWN_HEAD = /^\d{1,15}:[0-9a-f]{64}$/;
const MAX_SHOWN_FAULTS = 20;
const FAULT_TEXTS = {
  changed: 'was changed, or earlier entries were removed',
  removed: 'was removed',
  inserted: 'was inserted',
} as const;

function verifyCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('verify'))
    .description('Verify the audit log against its hash chain. Reports entries that were changed, removed or inserted.')
    .option('--known <seq:hash>', 'head printed by an earlier check; verify that the chain still contains it');
  return command.action(async () => {
    const { admin, options } = await openAdmin<VerifyOptions>(command, shell);
    if (options.known !== undefined && !KNOWN_HEAD.test(options.known))
      throw new UsageError('--known must be the head printed by an earlier check, such as 17:<64 hexadecimal digits>');
    const verification = await admin.audit.verify(options.known === undefined ? {} : { known: options.known });
    const { faults, checked, head, known } = verification;
    if (options.json) screen.write(json(verification));
    else {
      for (const { seq, id, kind } of faults.slice(0, MAX_SHOWN_FAULTS))
        screen.write(`entry ${seq} (${id ?? 'removed'}) ${FAULT_TEXTS[kind]}\n`);
      if (known === 'missing') screen.write(`the chain does not contain ${options.known}\n`);
      if (known === 'expired') screen.write(`${options.known} is older than the retention period\n`);
      screen.write(`${checked} entries checked, ${countText(faults.length, 'fault')}\nhead ${head.seq}:${head.hash}\n`);
    }
    if (faults.length > 0 || known === 'missing') throw new Error('the audit log failed verification against its hash chain');
  });
}

export function auditLogCommand(shell: Shell): Command {
  return new Command('audit')
    .description('Export or verify the audit log of all accounts (operators only).')
    .addCommand(exportCommand(shell))
    .addCommand(verifyCommand(shell));
}
