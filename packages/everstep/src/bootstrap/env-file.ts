/** The env file: settings for an app or script that uses the running server, as KEY=value lines. */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { carryToken } from '../dialects/upstash/index.js';
import type { Credentials, ServerAddresses } from './credentials.js';
import { updatePrivately } from './private-file.js';

/** Credentials for the server and its URLs. */
export type ServerAccess = Credentials & ServerAddresses;

/** Settings that apps in other processes or on other machines need. */
export type AppAccess = Pick<ServerAccess, 'url' | 'token' | 'instanceId' | 'currentSigningKey' | 'nextSigningKey'>;

/** Returns the variables that the published SDKs read. */
function publishedSdkEnvironment(access: AppAccess): Readonly<Record<string, string>> {
  return {
    QSTASH_URL: access.url,
    QSTASH_TOKEN: carryToken(access),
    QSTASH_CURRENT_SIGNING_KEY: access.currentSigningKey,
    QSTASH_NEXT_SIGNING_KEY: access.nextSigningKey,
  };
}

/** Returns the variables that an app needs, for every SDK. */
export function appEnvironmentOf(access: AppAccess): Readonly<Record<string, string>> {
  return {
    EVERSTEP_URL: access.url,
    EVERSTEP_TOKEN: access.token,
    EVERSTEP_CURRENT_SIGNING_KEY: access.currentSigningKey,
    EVERSTEP_NEXT_SIGNING_KEY: access.nextSigningKey,
    ...publishedSdkEnvironment(access),
  };
}

/** Returns the variables for scripts and operators, which include the admin credentials. */
export function environmentOf(access: ServerAccess): Readonly<Record<string, string>> {
  return {
    EVERSTEP_URL: access.url,
    EVERSTEP_MANAGEMENT_URL: access.managementUrl,
    EVERSTEP_TOKEN: access.token,
    EVERSTEP_READONLY_TOKEN: access.readOnlyToken,
    EVERSTEP_CURRENT_SIGNING_KEY: access.currentSigningKey,
    EVERSTEP_NEXT_SIGNING_KEY: access.nextSigningKey,
    EVERSTEP_ADMIN_EMAIL: access.adminEmail,
    EVERSTEP_ADMIN_API_KEY: access.adminApiKey,
    ...publishedSdkEnvironment(access),
  };
}

/**
 * Writes the env file, unless it already has the same content. It is called once the server is listening, so that a script can
 * wait for the file.
 */
export async function writeEnvFile(path: string, access: ServerAccess): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const lines = Object.entries(environmentOf(access)).map(([name, value]) => `${name}=${value}\n`);
  await updatePrivately(path, lines.join(''));
}
