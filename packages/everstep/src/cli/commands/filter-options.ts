/** Options that filter runs and dead letters. They are derived from the tables of filters. */
import { type Command, Option } from 'commander';
import { type Filter, type FilterTable, hasOneValue, type RequestFilters } from '../../contract/filters/filter.js';
import { choice, durationMs, timestampMs, wholeNumber } from '../arguments.js';

type Parser = (text: string, before: unknown) => unknown;

/** Collects the values of an option that may be repeated. */
const several =
  (parse: (text: string) => unknown): Parser =>
  (text, before) => [...(Array.isArray(before) ? before : []), parse(text)];
const unchanged = (text: string): string => text;

/** Returns how one value of the option is parsed. */
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
      return unchanged;
  }
}

/** Adds an option for each filter of the table. `what` names the filtered things: "runs" or "dead letters". */
export function withFilters(command: Command, table: FilterTable, what: string): Command {
  for (const filter of Object.values(table)) {
    if (!filter.option) continue;
    const { flag, help } = filter.option;
    const option = new Option(flag);
    const parse = valueParser(filter, option.long ?? flag);
    option.description = `${what} ${help}${hasOneValue(filter) ? '' : '; may be repeated'}`;
    option.argParser<unknown>(hasOneValue(filter) ? parse : several(parse));
    command.addOption(option);
  }
  return command;
}

/** Returns the filters that were given. */
export function filtersOf<Table extends FilterTable>(table: Table, command: Command): RequestFilters<Table> {
  const options: Readonly<Record<string, unknown>> = command.opts();
  const given = Object.entries(table).map(
    ([name, { option }]) => [name, option && options[new Option(option.flag).attributeName()]] as const,
  );
  // Each option was parsed as the kind of its filter requires.
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as RequestFilters<Table>;
}

export const hasFilter = (filter: object): boolean => Object.values(filter).some((value) => value !== undefined);
