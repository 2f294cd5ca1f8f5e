/**
 * Secrets in files: `EVERSTEP_STORE_FILE` names the file that contains `EVERSTEP_STORE`, and so on. Flags are visible to every
 * user of the machine in the list of processes; a file is not, and container platforms mount secrets as files.
 */
import { readFileSync, statSync } from 'node:fs';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that may contain a secret and are read from a file as well. */
export const SECRET_VARIABLES: readonly string[] = Object.freeze([
  'EVERSTEP_STORE',
  'EVERSTEP_SECRETS_KEY',
  'EVERSTEP_EGRESS_PROXY',
  'EVERSTEP_OIDC_CLIENT_SECRET',
  'EVERSTEP_AUDIT_WEBHOOK_KEY',
  'EVERSTEP_TOKEN',
  'EVERSTEP_ADMIN_API_KEY',
  'EVERSTEP_SEARCH_TOKEN',
]);

export const SECRET_FILE_VARIABLES: readonly string[] = Object.freeze(SECRET_VARIABLES.map((name) => `${name}_FILE`));

/** The longest secret is a URL. */
const MAX_FILE_BYTES = 16 * 1024;

export type SecretsRead =
  | { readonly ok: true; readonly env: Environment }
  /** Sentences, each naming the variable. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Without the line break at its end, which editors and shells add. Throws an Error that says why it cannot be used. */
function contentOf(path: string): string {
  if (statSync(path).size > MAX_FILE_BYTES) throw new Error(`it is larger than ${MAX_FILE_BYTES} bytes`);
  const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  if (text === '') throw new Error('it is empty');
  return text;
}

/** The environment, with what is in the files. Never throws. */
export function readSecretFiles(env: Environment): SecretsRead {
  const read: Record<string, string> = {};
  const problems: string[] = [];
  for (const name of SECRET_VARIABLES) {
    const path = env[`${name}_FILE`]?.trim() ?? '';
    if (path === '') continue;
    if (env[name]?.trim()) {
      problems.push(`${name} and ${name}_FILE are both set; set one of them`);
      continue;
    }
    try {
      read[name] = contentOf(path);
    } catch (error) {
      problems.push(`${name}_FILE: the file ${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, env: { ...env, ...read } };
}
