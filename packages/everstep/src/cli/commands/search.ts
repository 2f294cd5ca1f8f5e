/** `everstep search upsert|fetch|delete|range|query|info|reset|delete-namespace`: the documents of a search index. */
import type { DocumentChoice, DocumentsById, StoredDocument } from '@everstep/sdk';
import { Command } from 'commander';
import { wholeNumber } from '../arguments.js';
import { readDocuments, requestsOf } from '../documents-input.js';
import { NotFoundError, UsageError } from '../exit-codes.js';
import { type Cell, countText, json, printable, type Shell, shorten, table } from '../output.js';
import { openSearch, type SearchConnectionOptions, withNamespace, withSearchConnection } from '../search-connection.js';

const DEFAULT_LIMIT = 100;
/** Maximum length of content in a table; --json prints all of it. */
const MAX_SHOWN_LENGTH = 100;

interface ChoiceOptions extends SearchConnectionOptions {
  readonly prefix?: string;
  readonly filter?: string;
}

interface QueryOptions extends SearchConnectionOptions {
  readonly limit?: number;
  readonly filter?: string;
}

interface RangeOptions extends SearchConnectionOptions {
  readonly limit: number;
  readonly prefix?: string;
  readonly cursor?: string;
}

interface ResetOptions extends SearchConnectionOptions {
  readonly all?: boolean;
}

const jsonCell = (value: unknown): Cell => (value === undefined ? null : shorten(JSON.stringify(value), MAX_SHOWN_LENGTH));
const cellsOf = ({ id, content, metadata }: StoredDocument): readonly Cell[] => [id, jsonCell(content), jsonCell(metadata)];
const HEAD = ['DOCUMENT', 'CONTENT', 'METADATA'] as const;

function upsertCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withNamespace(new Command('upsert'))
    .description('Create or replace documents, up to 1,000 per request. Each request is atomic.')
    .argument(
      '<documents>',
      'a JSON document, an array of documents, or one document per line: text, @file, or - for standard input',
    );
  return command.action(async (input: string) => {
    const newDocuments = await readDocuments(input);
    const { documents, options } = await openSearch(command, shell);
    let upsertedCount = 0;
    for (const request of requestsOf(newDocuments)) {
      try {
        await documents.upsert(request);
      } catch (error) {
        if (upsertedCount > 0) shell.printError(`${countText(upsertedCount, 'document')} upserted; the remaining ones failed.\n`);
        throw error;
      }
      upsertedCount += request.length;
    }
    screen.write(options.json ? json({ upserted: upsertedCount }) : `${upsertedCount} upserted\n`);
  });
}

function idsOrPrefix(ids: readonly string[], { prefix }: ChoiceOptions): DocumentsById | null {
  if (ids.length > 0 && prefix !== undefined) throw new UsageError('Give either document ids or --prefix, not both.');
  if (ids.length > 0) return { ids };
  return prefix === undefined ? null : { prefix };
}

function fetchCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withNamespace(new Command('fetch'))
    .description('Fetch documents by id or id prefix.')
    .argument('[ids...]', 'ids of documents')
    .option('--prefix <text>', 'prefix of the document ids');
  return command.action(async (ids: readonly string[]) => {
    const choice = idsOrPrefix(ids, command.opts<ChoiceOptions>());
    if (!choice) throw new UsageError('Give document ids or --prefix.');
    const { documents, options } = await openSearch(command, shell);
    const fetchedDocuments = await documents.fetch(choice);
    const foundDocuments = fetchedDocuments.filter((document) => document !== null);
    if (options.json) screen.write(json(fetchedDocuments));
    else if (foundDocuments.length > 0) screen.write(table(screen, HEAD, foundDocuments.map(cellsOf)));
    const missingIds = ids.filter((_, index) => fetchedDocuments[index] === null);
    if (missingIds.length > 0) throw new NotFoundError(`document not found: ${missingIds.map(printable).join(', ')}`);
    if (foundDocuments.length === 0 && !options.json) screen.write('No matching documents.\n');
  });
}

function deleteCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withNamespace(new Command('delete'))
    .description('Delete documents by id, id prefix or filter.')
    .argument('[ids...]', 'ids of documents')
    .option('--prefix <text>', 'prefix of the document ids')
    .option('--filter <filter>', 'filter, such as "year < 1990"');
  return command.action(async (ids: readonly string[]) => {
    const choiceOptions = command.opts<ChoiceOptions>();
    const documentsById = idsOrPrefix(ids, choiceOptions);
    if (documentsById && choiceOptions.filter !== undefined)
      throw new UsageError('Give only one of document ids, --prefix or --filter.');
    const choice: DocumentChoice | null = choiceOptions.filter === undefined ? documentsById : { filter: choiceOptions.filter };
    if (choiceOptions.prefix === '') throw new UsageError('--prefix must not be empty. To delete all documents, use reset.');
    if (!choice) throw new UsageError('Give document ids, --prefix or --filter. To delete all documents, use reset.');
    const { documents, options } = await openSearch(command, shell);
    const deletedCount = await documents.delete(choice);
    screen.write(options.json ? json({ deleted: deletedCount }) : `${deletedCount} deleted\n`);
  });
}

function rangeCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withNamespace(new Command('range'))
    .description('List documents in order of their ids, one page at a time.')
    .option('--limit <documents>', 'maximum number of documents, up to 1000', wholeNumber('--limit', 1), DEFAULT_LIMIT)
    .option('--prefix <text>', 'prefix of the document ids')
    .option('--cursor <cursor>', 'cursor printed by the previous page');
  return command.action(async () => {
    const { documents, options } = await openSearch<RangeOptions>(command, shell);
    const { limit, prefix, cursor } = options;
    const page = await documents.range({
      limit,
      ...(prefix === undefined ? {} : { prefix }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (options.json) return screen.write(json(page));
    if (page.vectors.length === 0) return screen.write('No documents.\n');
    screen.write(table(screen, HEAD, page.vectors.map(cellsOf)));
    if (page.nextCursor !== '') screen.write(`\nNext page: --cursor ${page.nextCursor}\n`);
  });
}

function queryCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withNamespace(new Command('query'))
    .description('Search the content of documents, best matches first.')
    .argument('<words...>', 'words to search for')
    .option('--limit <documents>', 'maximum number of documents, up to 1000 (default: 5)', wholeNumber('--limit', 1))
    .option('--filter <filter>', 'filter, such as "year < 1990 AND @metadata.seen = true"');
  return command.action(async (words: readonly string[]) => {
    const { documents, options } = await openSearch<QueryOptions>(command, shell);
    const { limit, filter } = options;
    const matches = await documents.search({
      query: words.join(' '),
      ...(limit === undefined ? {} : { topK: limit }),
      ...(filter === undefined ? {} : { filter }),
    });
    if (options.json) return screen.write(json(matches));
    if (matches.length === 0) return screen.write('No matching documents.\n');
    const rows = matches.map((document) => [document.score.toFixed(3), ...cellsOf(document)]);
    screen.write(table(screen, ['SCORE', ...HEAD], rows));
  });
}

function infoCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withSearchConnection(new Command('info')).description(
    'Show the namespaces with their document counts, and the size of the index.',
  );
  return command.action(async () => {
    const { index, options } = await openSearch(command, shell);
    const info = await index.info();
    if (options.json) return screen.write(json(info));
    const rows = Object.entries(info.namespaces).map(([name, counts]) => [name === '' ? '(no name)' : name, counts.vectorCount]);
    if (rows.length > 0) screen.write(`${table(screen, ['NAMESPACE', 'DOCUMENTS'], rows)}\n`);
    screen.write(`${countText(info.vectorCount, 'document')}, ${info.indexSize} bytes\n`);
  });
}

function resetCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withNamespace(new Command('reset'))
    .description('Delete all documents of the namespace, or of every namespace with --all. This cannot be undone.')
    .option('--all', 'every namespace');
  return command.action(async () => {
    const { all, namespace } = command.opts<ResetOptions>();
    if (all && namespace !== undefined) throw new UsageError('Give either --namespace or --all, not both.');
    const { index, documents, options } = await openSearch<ResetOptions>(command, shell);
    await (all ? index : documents).reset();
    screen.write(options.json ? json({ reset: 1 }) : 'all documents deleted\n');
  });
}

function deleteNamespaceCommand(shell: Shell): Command {
  const { screen } = shell;
  const command = withSearchConnection(new Command('delete-namespace'))
    .description('Delete a namespace and all its documents. This cannot be undone.')
    .argument('<name>', 'name of the namespace');
  return command.action(async (name: string) => {
    const { index, options } = await openSearch(command, shell);
    await index.deleteNamespace(name);
    screen.write(options.json ? json({ deleted: 1 }) : '1 deleted\n');
  });
}

const CONNECTION_HELP = `
These commands connect to an index with --url and --token (by default EVERSTEP_SEARCH_URL and EVERSTEP_SEARCH_TOKEN).
Alternatively, --index selects an index by its id and uses the credentials of \`everstep admin\`.
To create, rename, transfer or delete an index, use \`everstep admin search\`.`;

export function searchCommand(shell: Shell): Command {
  return new Command('search')
    .description('Manage and search the documents of a search index.')
    .addCommand(upsertCommand(shell))
    .addCommand(fetchCommand(shell))
    .addCommand(deleteCommand(shell))
    .addCommand(rangeCommand(shell))
    .addCommand(queryCommand(shell))
    .addCommand(infoCommand(shell))
    .addCommand(resetCommand(shell))
    .addCommand(deleteNamespaceCommand(shell))
    .addHelpText('after', CONNECTION_HELP);
}
