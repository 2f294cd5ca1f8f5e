/** Examines an installation without changing it: its files, store, limits and settings, and the server if it runs. */
import { X509Certificate } from 'node:crypto';
import { constants, readFileSync } from 'node:fs';
import { access, readdir, stat, statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { readCredentials } from '../../bootstrap/credentials.js';
import { localUrl } from '../../bootstrap/listeners.js';
import { readTlsFiles } from '../../bootstrap/tls-files.js';
import type { Config } from '../../config/config.js';
import { descriptorLimitIn } from '../../config/connection-limits.js';
import { SERVER_VERSION } from '../../step-calls/version.js';
import { type Finding, findingsOf } from './findings.js';
import { assessBackups, assessDescriptors, assessDisk, assessFiles, assessMemory, type FileFacts } from './machine-checks.js';
import { assessSettings } from './risky-settings.js';
import { assessAddress, assessCertificate, assessServer, assessServerClock, assessVersions, versionIn } from './server-checks.js';
import type { Probe } from './server-probe.js';
import { checkDatabase, checkFile, findBackups } from './store-checks.js';

export interface DoctorOptions {
  /** Directory with backups; null if their age is not checked. */
  readonly backups: string | null;
  readonly maxBackupAgeMs: number;
  readonly probe: Probe;
}

const SECRET_FILES = ['secrets.key', 'control.sock', 'everstep.db', 'everstep.db-wal', 'everstep.db-mark'];
const CGROUP_LIMITS = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];

/** Returns the text of a system file; null if it does not exist. */
function readSystemFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Returns the memory of the container, or of the machine, in bytes. */
function readMemoryLimit(): number {
  const byteLimits = CGROUP_LIMITS.map((path) => Number(readSystemFile(path)?.trim() ?? Number.NaN)).filter((bytes) => bytes > 0);
  return Math.min(totalmem(), ...byteLimits);
}

async function readFileFacts(path: string): Promise<FileFacts> {
  const fileStat = await stat(path).catch(() => null);
  const accessMode = constants.R_OK | constants.W_OK;
  const isUsable =
    fileStat !== null &&
    (await access(path, accessMode).then(
      () => true,
      () => false,
    ));
  return { path, mode: fileStat?.mode ?? null, isDirectory: fileStat?.isDirectory() ?? false, isUsable };
}

async function checkFiles({ dataDir, envFile, tls, store }: Config): Promise<readonly Finding[]> {
  if (process.platform === 'win32') return [findingsOf('files').skipped('Windows has no permission bits')];
  const credentialNames = (await readdir(dataDir).catch(() => [])).filter((name) => /^credentials\..*json$/.test(name));
  const dataDirFiles = [...SECRET_FILES, ...credentialNames, 'search'].map((name) => join(dataDir, name));
  const otherFiles = [...(envFile === null ? [] : [envFile]), ...(tls ? [tls.key] : [])];
  const storeFiles = store.kind === 'file' ? [store.file, `${store.file}-wal`, `${store.file}-mark`] : [];
  const paths = new Set([dataDir, ...dataDirFiles, ...storeFiles, ...otherFiles]);
  return assessFiles(await Promise.all([...paths].map(readFileFacts)));
}

async function checkDisk({ dataDir, store }: Config): Promise<Finding> {
  const location = store.kind === 'file' ? dirname(store.file) : dataDir;
  const disk = await statfs(location).catch(() => null);
  if (!disk) return findingsOf('disk').skipped(`${location} does not exist yet`);
  const storeBytes = store.kind === 'file' ? ((await stat(store.file).catch(() => null))?.size ?? 0) : 0;
  return assessDisk({ path: location, freeBytes: disk.bavail * disk.bsize, totalBytes: disk.blocks * disk.bsize, storeBytes });
}

/** Checks the certificate in the files of this server, and the one that the public URL presents. */
async function checkTls({ tls, publicUrl }: Config, probe: Probe): Promise<readonly Finding[]> {
  const { problem, skipped } = findingsOf('tls');
  const findings: Finding[] = [];
  if (tls) {
    try {
      const { cert } = await readTlsFiles(tls);
      const { validFrom, validTo } = new X509Certificate(cert);
      findings.push(assessCertificate(tls.cert, { validFrom: Date.parse(validFrom), validTo: Date.parse(validTo) }, Date.now()));
    } catch (error) {
      findings.push(
        problem(error instanceof Error ? error.message : String(error), 'Correct the files, then start the server again.'),
      );
    }
  }
  if (publicUrl?.startsWith('https:')) {
    // A certificate that is not trusted is also checked.
    const reply = await probe(`${publicUrl}/health`, { verifiesCertificate: false });
    if (reply.kind === 'replied' && reply.certificate) findings.push(assessCertificate(publicUrl, reply.certificate, Date.now()));
  }
  return findings.length > 0 ? findings : [skipped('neither the server nor the public URL uses TLS')];
}

async function checkAddresses(config: Config, version: string | null, probe: Probe): Promise<readonly Finding[]> {
  const publicUrls = [
    ['EVERSTEP_PUBLIC_URL', config.publicUrl],
    ['EVERSTEP_NODE_URL', config.nodeUrl],
  ] as const;
  const findings: Finding[] = [];
  for (const [name, url] of publicUrls)
    if (url !== null) findings.push(assessAddress(name, url, await probe(`${url}/health`), version));
  const { warning } = findingsOf('addresses');
  if (findings.length === 0)
    findings.push(
      warning(
        'EVERSTEP_PUBLIC_URL is not set: webhook URLs and links contain the address of this machine',
        'Set it to the URL at which apps and people reach the server.',
      ),
    );
  if (config.managementAddress !== null && config.dashboardUrl === null && !config.signIn?.redirectUrl)
    findings.push(
      warning(
        'the management API has its own address, and EVERSTEP_DASHBOARD_URL is not set: links in notices contain the address of this machine',
        'Set it to the URL at which people reach the dashboard.',
      ),
    );
  return findings;
}

/** Returns the findings of all checks. Never rejects: a check that fails is reported as a finding. */
export async function runChecks(config: Config, { backups, maxBackupAgeMs, probe }: DoctorOptions): Promise<readonly Finding[]> {
  const { dataDir, store } = config;
  const credentials = await readCredentials(dataDir).catch(() => null);
  const url = credentials?.url ?? localUrl(config, config.host, config.port);
  const [health, ready] = await Promise.all(
    ['/health', '/ready'].map((path) => probe(`${url}${path}`, { verifiesCertificate: false })),
  );
  if (!health || !ready) throw new RangeError('two requests have two results');
  const version = versionIn(health);
  const isPostgres = store.kind === 'postgres';
  const clockFinding = version === null ? null : assessServerClock(url, health);
  const storeFindings = isPostgres ? await checkDatabase(store.url) : checkFile(store.file, dataDir, version !== null);
  const backupFacts = backups === null ? null : await findBackups(backups);
  const processLimits = readSystemFile('/proc/self/limits');
  return [
    assessServer(url, health, ready),
    assessVersions(SERVER_VERSION, version),
    ...storeFindings,
    await checkDisk(config),
    ...(await checkFiles(config)),
    assessBackups(backupFacts, { now: Date.now(), maxAgeMs: maxBackupAgeMs, isPostgres }),
    ...(clockFinding ? [clockFinding] : []),
    ...(await checkTls(config, probe)),
    ...(await checkAddresses(config, version, probe)),
    ...assessSettings(config),
    assessDescriptors(processLimits === null ? null : descriptorLimitIn(processLimits)),
    assessMemory({ limitBytes: readMemoryLimit(), heapBytes: getHeapStatistics().heap_size_limit }),
  ];
}
