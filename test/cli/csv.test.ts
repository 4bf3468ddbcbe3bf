import { expect, it } from 'vitest';
import { csv } from '../../src/cli/wallet/history.js';

it('quotes what has to be, and gives no spreadsheet a formula', () => {
  expect(
    csv(
      ['a', 'b'],
      [
        ['x,"y"', '-5'],
        ['=SUM(A1)', '-cmd'],
        ["-2+3+cmd|' /C calc'!A0", '-5.25'],
        ['two\nlines', ''],
        ['＝SUM(A1)', '\n=1'],
      ],
    ),
  ).toBe(
    'a,b\r\n"x,""y""",-5\r\n\'=SUM(A1),\'-cmd\r\n\'-2+3+cmd|\' /C calc\'!A0,-5.25\r\n"two\nlines",\r\n\'＝SUM(A1),"\'\n=1"\r\n',
  );
});
