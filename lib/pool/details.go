package pool

// Details are the attributes of jobs that other users see only where JOB_DETAILS_VISIBLE says so: the
// command with its arguments and environment, and the names of files.
var Details = []string{
	AttrCmd, AttrArgs, AttrArguments, AttrEnv, AttrEnvironment, AttrIwd, AttrIn, AttrOut, AttrErr, AttrUserLog,
	AttrTransferInput, AttrTransferOutput, AttrTransferOutputRemaps, AttrOutputDestination, AttrTransferCheckpoint,
	AttrAppendFiles, "BufferFiles", "CommonInputFiles", "CompressFiles", "DAGManNodesLog", "DontEncryptInputFiles", "DontEncryptOutputFiles",
	"EncryptInputFiles", "EncryptOutputFiles", "FetchFiles", "FileRemaps", "JarFiles", "JobStarterLog", "LocalFiles", "ManifestDir",
	"OutputDirectory", "PublicInputFiles", "RendezvousDirectory", "ScitokensFile", "ToolDaemonArgs", "ToolDaemonArguments", "ToolDaemonCmd", "ToolDaemonInput",
	"ToolDaemonOutput", "X509UserProxy", "PreCmd", "PreArguments", "PostCmd", "PostArguments", "OrigCmd", "OrigIwd", "TransferInputRemaps", AttrBatchScript,
}
