/** Finds the events that the source writes to the log of the server. */
import type { ESTree } from 'rolldown/utils';
import { visit } from '../architecture/source.fixture.js';

export interface LogEvent {
  readonly level: string;
  readonly event: string;
  /** Names of the fields that the call lists. Fields of a spread are not found. */
  readonly fields: readonly string[];
}

type Expression = ESTree.Expression | ESTree.SpreadElement | undefined;

const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'];

/** Returns the name of a variable or the last name of a member. */
function nameOf(node: Expression | ESTree.PrivateIdentifier): string | null {
  if (node?.type === 'ChainExpression') return nameOf(node.expression);
  if (node?.type === 'MemberExpression') return nameOf(node.property);
  return node?.type === 'Identifier' ? node.name : null;
}

/** Returns whether the text is declared elsewhere, as in the code that logs notices and periodic lines. */
const isDeclaredElsewhere = (node: Expression): boolean =>
  (node?.type === 'Identifier' && node.name === 'event') ||
  (node?.type === 'MemberExpression' && node.object.type === 'ThisExpression' && nameOf(node) === 'message');

/** Returns the properties of an object literal by name. */
function propertiesOf(node: Expression): ReadonlyMap<string, Expression> {
  const properties = new Map<string, Expression>();
  if (node?.type !== 'ObjectExpression') return properties;
  for (const property of node.properties) {
    const name = property.type === 'Property' && !property.computed ? nameOf(property.key) : null;
    if (name !== null && property.type === 'Property') properties.set(name, property.value);
  }
  return properties;
}

/** Returns the events of a source file. Throws if the text of a log line is not a constant. */
export function logEventsIn(text: string): readonly LogEvent[] {
  const events: LogEvent[] = [];
  const add = (level: string, event: Expression, fields: readonly string[]): void => {
    if (event?.type !== 'Literal' || typeof event.value !== 'string')
      throw new Error(`the text of a log line must be a constant: ${event ? text.slice(event.start, event.end) : 'it has none'}`);
    events.push({ level, event: event.value, fields });
  };
  const source = { path: 'source.ts', text };
  visit(source, {
    CallExpression({ callee, arguments: [details, event] }) {
      if (callee.type !== 'MemberExpression' || nameOf(callee.object) !== 'log') return;
      const level = nameOf(callee);
      if (level !== null && LEVELS.includes(level) && !isDeclaredElsewhere(event))
        add(level, event, [...propertiesOf(details).keys()]);
    },
    NewExpression({ callee, arguments: [, event] }) {
      if (nameOf(callee) === 'ThrottledLog') add('warn', event, ['occurrences']);
    },
    // An object such as `{ event: 'text', fields: { ... } }` is a notice of the embedded store.
    ObjectExpression(node) {
      const properties = propertiesOf(node);
      const [event, fields] = [properties.get('event'), properties.get('fields')];
      if (event?.type === 'Literal' && fields?.type === 'ObjectExpression') add('warn', event, [...propertiesOf(fields).keys()]);
    },
  });
  return events;
}
