/** `everstep audit export|verify`: the audit log of all accounts, for operators. */
import { Command } from 'commander';
import { type AdminOptions, openAdmin, withAdminConnection } from '../admin-connection.js';
import { moment, wholeNumber } from '../arguments.js';
import { UsageError } from '../exit-codes.js';
import { json, type Shell } from '../output.js';

interface ExportOptions extends AdminOptions {
  readonly from?: Date;
  readonly to?: Date;
  readonly after?: number;
}

function exportCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('export'))
    .description('Print the audit log of all accounts as NDJSON, oldest first.')
    .option('--from <time>', 'only entries of this time or later: ISO 8601 or Unix ms', moment('--from'))
    .option('--to <time>', 'only entries of this time or earlier', moment('--to'))
    .option('--after <seq>', 'continue behind the entry with this seq', wholeNumber('--after', 0));
  return command.action(async () => {
    const { admin, options } = await openAdmin<ExportOptions>(command, shell);
    const { from, to, after } = options;
    const bounds = { ...(from ? { from } : {}), ...(to ? { to } : {}), ...(after === undefined ? {} : { after }) };
    for await (const line of admin.audit.export(bounds)) screen.write(`${JSON.stringify(line)}\n`);
  });
}

interface VerifyOptions extends AdminOptions {
  readonly known?: string;
}

const KNOWN = /^\d{1,15}:[0-9a-f]{64}$/;
const MOST_SHOWN = 20;
const KINDS = {
  changed: 'was changed, or entries before it are gone',
  removed: 'was removed',
  inserted: 'was inserted',
} as const;

function verifyCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withAdminConnection(new Command('verify'))
    .description('Check the audit log against its hash chain: finds entries that were changed, removed or inserted.')
    .option('--known <seq:hash>', 'the head that an earlier check printed: also check that the chain still has it');
  return command.action(async () => {
    const { admin, options } = await openAdmin<VerifyOptions>(command, shell);
    if (options.known !== undefined && !KNOWN.test(options.known))
      throw new UsageError('--known must be the head that an earlier check printed, such as 17:<64 hexadecimal digits>');
    const verified = await admin.audit.verify(options.known === undefined ? {} : { known: options.known });
    const { faults, checked, head, known } = verified;
    if (options.json) screen.write(json(verified));
    else {
      for (const { seq, id, kind } of faults.slice(0, MOST_SHOWN))
        screen.write(`entry ${seq} (${id ?? 'gone'}) ${KINDS[kind]}\n`);
      if (known === 'missing') screen.write(`the chain does not have ${options.known}\n`);
      if (known === 'expired') screen.write(`${options.known} is older than the retention\n`);
      screen.write(`${checked} entries checked, ${faults.length} faults\nhead ${head.seq}:${head.hash}\n`);
    }
    if (faults.length > 0 || known === 'missing') throw new Error('the audit log does not match its hash chain');
  });
}

export function auditLogCommand(shell: Shell): Command {
  return new Command('audit')
    .description('The audit log of all accounts, for operators: export, verify.')
    .addCommand(exportCommand(shell))
    .addCommand(verifyCommand(shell));
}
