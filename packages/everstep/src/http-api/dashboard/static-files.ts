/**
 * The built files of the dashboard. They are read once, by name. The name in a request is only looked up among them and never
 * becomes a file path, so no other file can be read.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { ENCODINGS, type Encoding } from '../responses/encodings.js';

/** Smaller files do not benefit from compression. */
const MIN_COMPRESSED_BYTES = 1024;
/** Almost as small as quality 11 for these files, in a tenth of the time. */
const BROTLI_QUALITY = 9;
const SUFFIX: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };
/** File names in it are derived from the content. */
const ASSETS = 'assets';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};
const UNCOMPRESSIBLE: readonly string[] = ['.png', '.woff2'];

const COMPRESS: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: (bytes) => promisify(gzip)(bytes),
};

export class StaticFile {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Hash of the content, without quotation marks. */
  readonly tag: string;
  private readonly isCompressible: boolean;
  private readonly encoded = new Map<Encoding, Promise<Buffer>>();

  constructor(name: string, bytes: Buffer, precompressed: Readonly<Partial<Record<Encoding, Buffer>>> = {}) {
    const extension = extname(name);
    this.contentType = TYPES[extension] ?? 'application/octet-stream';
    this.bytes = bytes;
    this.tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    this.isCompressible = bytes.length >= MIN_COMPRESSED_BYTES && !UNCOMPRESSIBLE.includes(extension);
    for (const encoding of ENCODINGS) {
      const compressed = precompressed[encoding];
      if (compressed) this.encoded.set(encoding, Promise.resolve(compressed));
    }
  }

  get encodings(): readonly Encoding[] {
    return this.isCompressible ? ENCODINGS : [];
  }

  /** Returns the compressed content. Compressed on first use, unless the build has done so. */
  encodedAs(encoding: Encoding): Promise<Buffer> {
    const compressed = this.encoded.get(encoding) ?? COMPRESS[encoding](this.bytes);
    this.encoded.set(encoding, compressed);
    return compressed;
  }
}

export interface DashboardFiles {
  readonly index: StaticFile;
  /** Files next to the index, by name. */
  readonly beside: ReadonlyMap<string, StaticFile>;
  /** Files whose names change with their content, by name. */
  readonly assets: ReadonlyMap<string, StaticFile>;
}

const isNotFound = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Returns the visible files of a directory; empty when it does not exist. */
async function readFolder(directory: string): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    if (isNotFound(error)) return [];
    throw error;
  });
  const names = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name))] as const)));
}

function filesOf(folder: ReadonlyMap<string, Buffer>): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const [name, bytes] of folder) {
    const isCompressedCopy = ENCODINGS.some(
      (encoding) => name.endsWith(SUFFIX[encoding]) && folder.has(name.slice(0, -SUFFIX[encoding].length)),
    );
    if (isCompressedCopy) continue;
    const precompressed = ENCODINGS.flatMap((encoding) => {
      const compressed = folder.get(name + SUFFIX[encoding]);
      return compressed ? [[encoding, compressed] as const] : [];
    });
    files.set(name, new StaticFile(name, bytes, Object.fromEntries(precompressed)));
  }
  return files;
}

/** Returns null when the dashboard was not built. Rejects when the files cannot be read. */
export async function readDashboard(directory: string): Promise<DashboardFiles | null> {
  const [folder, assets] = await Promise.all([readFolder(directory), readFolder(join(directory, ASSETS))]);
  const beside = new Map(filesOf(folder));
  const index = beside.get('index.html');
  if (!index) return null;
  beside.delete('index.html');
  return { index, beside, assets: filesOf(assets) };
}
