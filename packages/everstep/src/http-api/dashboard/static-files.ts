/**
 * The built files of the dashboard, which are read once. The name in a request is only looked up among the names of these files
 * and never becomes a file path, so no other file can be read.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { ENCODINGS, type Encoding } from '../responses/encodings.js';

/** Smaller files do not benefit from compression. */
const MIN_COMPRESSED_BYTES = 1024;
/** Makes these files almost as small as quality 11 does, in a tenth of the time. */
const BROTLI_QUALITY = 9;
const SUFFIXES: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };
/** Directory of files whose names are derived from their content. */
const ASSETS_DIRECTORY = 'assets';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
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
const INCOMPRESSIBLE_EXTENSIONS: readonly string[] = ['.png', '.woff2'];

const COMPRESSORS: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: (bytes) => promisify(gzip)(bytes),
};

export class StaticFile {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Hash of the content, without quotation marks. */
  readonly tag: string;
  private readonly isCompressible: boolean;
  private readonly encodedContents = new Map<Encoding, Promise<Buffer>>();

  constructor(name: string, bytes: Buffer, precompressed: Readonly<Partial<Record<Encoding, Buffer>>> = {}) {
    const extension = extname(name);
    this.contentType = CONTENT_TYPES[extension] ?? 'application/octet-stream';
    this.bytes = bytes;
    this.tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    this.isCompressible = bytes.length >= MIN_COMPRESSED_BYTES && !INCOMPRESSIBLE_EXTENSIONS.includes(extension);
    for (const encoding of ENCODINGS) {
      const compressedBytes = precompressed[encoding];
      if (compressedBytes) this.encodedContents.set(encoding, Promise.resolve(compressedBytes));
    }
  }

  get encodings(): readonly Encoding[] {
    return this.isCompressible ? ENCODINGS : [];
  }

  /** Returns the compressed content. It is compressed on first use, unless the build already contains it compressed. */
  encode(encoding: Encoding): Promise<Buffer> {
    const compressedContent = this.encodedContents.get(encoding) ?? COMPRESSORS[encoding](this.bytes);
    this.encodedContents.set(encoding, compressedContent);
    return compressedContent;
  }
}

export interface DashboardFiles {
  readonly index: StaticFile;
  /** Other files in the directory of the index, by name. */
  readonly otherFiles: ReadonlyMap<string, StaticFile>;
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
      (encoding) => name.endsWith(SUFFIXES[encoding]) && folder.has(name.slice(0, -SUFFIXES[encoding].length)),
    );
    if (isCompressedCopy) continue;
    const precompressed = ENCODINGS.flatMap((encoding) => {
      const compressedBytes = folder.get(name + SUFFIXES[encoding]);
      return compressedBytes ? [[encoding, compressedBytes] as const] : [];
    });
    files.set(name, new StaticFile(name, bytes, Object.fromEntries(precompressed)));
  }
  return files;
}

/** Reads the files of the dashboard. Returns null if it was not built. Rejects if the files cannot be read. */
export async function readDashboard(directory: string): Promise<DashboardFiles | null> {
  const [folder, assets] = await Promise.all([readFolder(directory), readFolder(join(directory, ASSETS_DIRECTORY))]);
  const otherFiles = new Map(filesOf(folder));
  const index = otherFiles.get('index.html');
  if (!index) return null;
  otherFiles.delete('index.html');
  return { index, otherFiles, assets: filesOf(assets) };
}
