/**
 * The words that texts of this project avoid. Phrases and replacements are data: `npm run lint` and the tests apply them to
 * every page, comment and text of the program.
 */

/**
 * Phrases to avoid, each with its replacement. A space matches any white space, including a line break.
 *
 * @type {readonly (readonly [phrase: RegExp, replacement: string])[]}
 */
export const PHRASES = [
  [/told|tells?|telling/, 'notify, report, log, show, say'],
  [/whoever/, 'the one who, anyone who, or name the person or the process'],
  [/nobody/, 'no one (for people), nothing, or name what does not do it'],
  [/somebody/, 'someone (for people), or name the person or the process'],
  [/(?:begins?|began|begun)(?! with)/, 'start, started'],
  [/but for/, 'except, except for, without'],
  [/(?:stand|stands|stood|standing) in/, 'is in, is stored in, replaces'],
  [/(?:go|goes|going|gone|went) on/, 'continue, happen'],
  [/(?:take|takes|taken|taking|took) for granted/, 'assume'],
  [/by (?:it|them)sel(?:f|ves)/, 'automatically, alone'],
  [/for ever/, 'forever'],
  [/back-ups?/, 'backup'],
  [/back-off/, 'backoff'],
  [/owe[sd]?|owing/, 'pending, must still be sent'],
  [/deeds?/, 'action'],
  [/heard|hears?/, 'be notified, receive'],
  [/mend(?:s|ed|ing)?/, 'fix, repair'],
  [/as good as/, 'almost, practically'],
  [/(?:may|can|could|must) not be had|(?:to|can|could|may) be had/, 'available, unavailable'],
  [/lest/, 'so that ... not'],
  [/meanwhile(?=[.;)])/, 'in the meantime, during the ..., since then'],
  [/for good(?! reasons?)/, 'permanently'],
  [/at the latest(?! [a-z])/, 'no later than, until, within'],
  [/us(?:e|es|ed|ing) (?:up )?no (?:retry )?(?:attempts?|retries)/, 'does not use up attempts'],
  [/accepts? no writes/, 'rejects writes'],
  [
    /(?<!there )(?<!there's )(?<!here )(?:is|are|was|were) no (?!longer|more|less|fewer|later|earlier|greater|higher|lower|larger|bigger|smaller|better|worse|one\b|op\b|different|match\b)[a-z]+/,
    'is not a ..., is invalid, does not ...',
  ],
];

/**
 * British spellings with the American ones.
 *
 * @type {readonly (readonly [british: RegExp, american: string])[]}
 */
export const SPELLINGS = [
  [/licence[sd]?|unlicenced/, 'license'],
  [/(?:mis)?behaviou?r(?<=our)(?:s|al)?/, 'behavior'],
  [/colou?r(?<=our)(?:s|ed|ing|ful)?/, 'color'],
  [/neighbou?r(?<=our)(?:s|ing|hood)?/, 'neighbor'],
  [/(?:un)?favour(?:s|ed|ite|ites|able)?/, 'favor'],
  [/honour(?:s|ed|ing|able)?/, 'honor'],
  [/(?:labour|vapour|flavour|harbour|rumour|endeavour|humour|armour)(?:s|ed|ing)?/, 'labor, flavor, ...'],
  [/(?:centre|theatre|metre|litre|fibre|calibre)[sd]?/, 'center, meter, fiber, ...'],
  [/catalogue[sd]?|dialogue box(?:es)?/, 'catalog, dialog box'],
  [
    /(?:cancell|labell|travell|modell|signall|channell|funnell|tunnell|marshall|levell|totall|initiall|fuell|equall)(?:ed|ing)/,
    'one l: canceled, labeled, modeled, ...',
  ],
  [/(?:defence|offence|pretence)s?/, 'defense, offense, pretense'],
  [/grey(?:s|ed|ish)?/, 'gray'],
  [/(?:programme)s?/, 'program'],
  [/analys(?:e|es|ed|ing)(?<!analyses)|paralys(?:e|ed|ing)|catalys(?:e|ed|ing)/, 'analyze, paralyze'],
  [
    /judgement|acknowledgement|fulfil(?:s|ment)?|enrol(?:s|ment)?|instal(?:s|ment)?|artefacts?|ageing|whilst|amongst|learnt|spelt|burnt|cheque|sceptical|towards/,
    'judgment, acknowledgment, fulfill, artifact, while, among, toward, ...',
  ],
  [
    new RegExp(
      `(?:${[
        'anonym|apolog|author|capital|categor|central|critic|crystal|custom|decentral|deserial|emphas|equal|fact?or|final',
        'general|harmon|initial|ion|item|local|material|maxim|memor|minim|mobil|modern|modular|monopol|neutral|normal|optim',
        'organ|parallel|parameter|penal|personal|popular|priorit|random|real|recogn|reorgan|sanit|scrutin|serial|special',
        'stabil|standard|subsid|summar|symbol|synchron|token|unauthor|util|vectoral|virtual|visual',
      ].join('|')})is(?:e|es|ed|ing|er|ers|ation|ations|able)`,
    ),
    '-ize, -ization',
  ],
];

/**
 * Places where a phrase is right, each with the reason. `text` is the phrase with the words around it, exactly as in one line
 * of the file. An exception that is no longer needed is reported.
 *
 * @type {readonly { readonly path: string, readonly text: string, readonly reason: string }[]}
 */
export const EXCEPTIONS = [
  {
    path: 'CODE_OF_CONDUCT.md',
    text: 'as individuals, but for the overall',
    reason: 'the text of the Contributor Covenant is not changed',
  },
  {
    path: 'packages/everstep/src/engine/dead-letters/normalized-text.test.ts',
    text: 'nobody knows why it should be so',
    reason: 'a sentence of an endpoint, where the length counts',
  },
];

/** Subjects of commits after this one have at most 72 characters. Those before it were not checked. */
export const SUBJECTS_SINCE = '3d357086f4f662d1722a3be9b4cc5982b56b2de7';
export const MAX_SUBJECT_LENGTH = 72;

/** Sentences with more words are in the report of `npm run lint:language`. */
export const MAX_SENTENCE_WORDS = 35;
