/** Adds the options that filter runs and dead letters, which are derived from the tables of filters. */
import { type Command, Option } from 'commander';
import { type Filter, type FilterTable, hasOneValue, type RequestFilters } from '../../contract/filters/filter.js';
import { choice, durationMs, timestampMs, wholeNumber } from '../arguments.js';

type Parser = (text: string, previous: unknown) => unknown;

/** Collects the values of an option that may be repeated. */
const collectParsed =
  (parse: (text: string) => unknown): Parser =>
  (text, previous) => [...(Array.isArray(previous) ? previous : []), parse(text)];
const keepText = (text: string): string => text;

/** Returns the parser for one value of the option. */
function valueParser(filter: Filter, name: string): (text: string) => unknown {
  switch (filter.kind) {
    case 'time':
      return timestampMs(name);
    case 'duration':
      return durationMs(name);
    case 'choices':
      return choice(name, filter.values);
    case 'numbers':
      return wholeNumber(name);
    default:
      return keepText;
  }
}

/** Adds an option for each filter of the table. `subject` is what the filters select: "runs" or "dead letters". */
export function withFilters(command: Command, table: FilterTable, subject: string): Command {
  for (const filter of Object.values(table)) {
    if (!filter.option) continue;
    const { flag, help } = filter.option;
    const option = new Option(flag);
    const parse = valueParser(filter, option.long ?? flag);
    option.description = `${subject} ${help}${hasOneValue(filter) ? '' : '; may be repeated'}`;
    option.argParser<unknown>(hasOneValue(filter) ? parse : collectParsed(parse));
    command.addOption(option);
  }
  return command;
}

/** Returns the filters on the command line. */
export function filtersOf<Table extends FilterTable>(table: Table, command: Command): RequestFilters<Table> {
  const options: Readonly<Record<string, unknown>> = command.opts();
  const values = Object.entries(table).map(
    ([name, { option }]) => [name, option && options[new Option(option.flag).attributeName()]] as const,
  );
  // Each option was parsed as the kind of its filter requires.
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as RequestFilters<Table>;
}

export const hasValues = (filter: object): boolean => Object.values(filter).some((value) => value !== undefined);
