/** The version of the program, for the commands. */

export { programVersion } from '../lib/version.js';
