/** Test fixture: runs commands in this process, which is faster than a process per command. */
import { runCli } from '../program.js';
import type { EndedProcess } from './spawned-cli.js';

/** Runs a command until it ends. It sees only the environment variables in `env`. */
export async function runInProcess(
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<EndedProcess> {
  let stdout = '';
  let stderr = '';
  const code = await runCli(args, {
    screen: {
      write: (text) => {
        stdout += text;
      },
      hasColors: false,
      isTerminal: false,
    },
    printError: (text) => {
      stderr += text;
    },
    env,
    cwd,
  });
  return { code, stdout, stderr };
}
