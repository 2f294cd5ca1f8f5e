/**
 * Secrets in files: `EVERSTEP_STORE_FILE` names the file that contains the value of `EVERSTEP_STORE`, and so on. Every user of
 * the machine can see flags in the process list, but not a private file. Container platforms mount secrets as files.
 */
import { readFileSync, statSync } from 'node:fs';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that may contain a secret and can also be read from a file. */
export const SECRET_VARIABLES: readonly string[] = Object.freeze([
  'EVERSTEP_STORE',
  'EVERSTEP_SECRETS_KEY',
  'EVERSTEP_EGRESS_PROXY',
  'EVERSTEP_OIDC_CLIENT_SECRET',
  'EVERSTEP_AUDIT_WEBHOOK_KEY',
  'EVERSTEP_METRICS_TOKEN',
  'EVERSTEP_SMTP_URL',
  'EVERSTEP_TOKEN',
  'EVERSTEP_ADMIN_API_KEY',
  'EVERSTEP_SEARCH_TOKEN',
  'EVERSTEP_PAYLOAD_KEYS',
]);

export const SECRET_FILE_VARIABLES: readonly string[] = Object.freeze(SECRET_VARIABLES.map((name) => `${name}_FILE`));

/** Maximum size of a secret file. The longest secrets are URLs, which are much shorter. */
const MAX_FILE_BYTES = 16 * 1024;

export type EnvironmentWithSecrets =
  | { readonly ok: true; readonly env: Environment }
  /** Sentences that name the variable. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Returns the content without the trailing line break that editors add. Throws an Error with the reason if it is unusable. */
function readSecret(path: string): string {
  if (statSync(path).size > MAX_FILE_BYTES) throw new Error(`it is larger than ${MAX_FILE_BYTES} bytes`);
  const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  if (text === '') throw new Error('it is empty');
  return text;
}

/** Returns the environment with the values from files. Never throws. */
export function readSecretFiles(env: Environment): EnvironmentWithSecrets {
  const fileValues: Record<string, string> = {};
  const problems: string[] = [];
  for (const name of SECRET_VARIABLES) {
    const path = env[`${name}_FILE`]?.trim() ?? '';
    if (path === '') continue;
    if (env[name]?.trim()) {
      problems.push(`${name} and ${name}_FILE are both set; set one of them`);
      continue;
    }
    try {
      fileValues[name] = readSecret(path);
    } catch (error) {
      problems.push(`${name}_FILE: the file ${path} is not usable: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, env: { ...env, ...fileValues } };
}
