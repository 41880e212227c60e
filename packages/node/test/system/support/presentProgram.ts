/** The program as it is, where a test needs it as a file beside the newer one. */
import "@startlist/node/main"
