/** `everstep decrypt [file]`: decrypts values that an app has encrypted. Needs no server. */
import { parseJson } from '@everstep/sdk';
import { decryptAll, payloadEncryption } from '@everstep/sdk/encryption';
import { Command } from 'commander';
import { readBody, readBodyFile } from '../../arguments.js';
import { EXIT, UsageError } from '../../exit-codes.js';
import { json, printable, type Shell } from '../../output.js';

const NO_KEYS =
  'The command requires the keys of the app in EVERSTEP_PAYLOAD_KEYS, or in the file named by EVERSTEP_PAYLOAD_KEYS_FILE.';

async function readJson(file: string | undefined): Promise<unknown> {
  const body = await (file === undefined ? readBody('-') : readBodyFile(file));
  try {
    return parseJson(typeof body === 'string' ? body : new TextDecoder().decode(body));
  } catch (error) {
    throw new UsageError(`The input must be JSON: ${error instanceof Error ? error.message : error}`);
  }
}

export function decryptCommand(shell: Shell, finish: (code: number) => void): Command {
  return new Command('decrypt')
    .summary('Decrypt payloads and results in the JSON output of another command')
    .description(
      'Read JSON, and print it with every encrypted payload and result decrypted. The keys are those of the app, in\n' +
        'EVERSTEP_PAYLOAD_KEYS. Values that cannot be decrypted stay encrypted; the exit code is then 1.',
    )
    .argument('[file]', 'file with JSON (default: standard input)')
    .action(async (file: string | undefined) => {
      const keys = shell.env.EVERSTEP_PAYLOAD_KEYS;
      if (!keys) throw new UsageError(NO_KEYS);
      const problems = new Set<string>();
      const cipher = payloadEncryption({ keys });
      const value = decryptAll(cipher, await readJson(file), ({ message }) => problems.add(message));
      shell.screen.write(json(value));
      for (const problem of problems) shell.printError(`${printable(problem)}\n`);
      if (problems.size > 0) finish(EXIT.refused);
    });
}
