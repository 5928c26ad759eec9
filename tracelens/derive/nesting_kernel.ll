; 7a6816b3a54e3743d523a474670f7e35d0ddf965369ab2b54cfea8640fbbb36c


define noundef range(i32 -1, -2) i32 @walk(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0:
  %.10 = inttoptr i64 %arg.state to ptr
  %.11 = load i64, ptr %.10, align 1
  %.14 = add nsw i64 %arg.state, 8
  %.15 = inttoptr i64 %.14 to ptr
  %.16 = load i64, ptr %.15, align 1
  %.25 = add nsw i64 %arg.state, 16
  %.26 = inttoptr i64 %.25 to ptr
  %.27 = load i64, ptr %.26, align 1
  %.30 = add nsw i64 %arg.state, 24
  %.31 = inttoptr i64 %.30 to ptr
  %.32 = load i64, ptr %.31, align 1
  %.35 = add nsw i64 %arg.state, 32
  %.36 = inttoptr i64 %.35 to ptr
  %.37 = load i64, ptr %.36, align 1
  %.49 = add nsw i64 %arg.state, 40
  %.50 = inttoptr i64 %.49 to ptr
  %.51 = load i64, ptr %.50, align 1
  %.54 = add nsw i64 %arg.state, 48
  %.55 = inttoptr i64 %.54 to ptr
  %.56 = load i64, ptr %.55, align 1
  %.59 = add nsw i64 %arg.state, 56
  %.60 = inttoptr i64 %.59 to ptr
  %.61 = load i64, ptr %.60, align 1
  %.73 = add nsw i64 %arg.state, 64
  %.74 = inttoptr i64 %.73 to ptr
  %.75 = load i64, ptr %.74, align 1
  %.78 = add nsw i64 %arg.state, 72
  %.79 = inttoptr i64 %.78 to ptr
  %.80 = load i64, ptr %.79, align 1
  %.89 = add nsw i64 %arg.state, 80
  %.90 = inttoptr i64 %.89 to ptr
  %.91 = load i64, ptr %.90, align 1
  %.94 = add nsw i64 %arg.state, 88
  %.95 = inttoptr i64 %.94 to ptr
  %.96 = load i64, ptr %.95, align 1
  %.105 = add nsw i64 %arg.state, 96
  %.106 = inttoptr i64 %.105 to ptr
  %.107 = load i64, ptr %.106, align 1
  %.136482 = icmp sgt i64 %.11, 0
  %.145483 = icmp sgt i64 %.16, 0
  %or.cond484 = select i1 %.136482, i1 true, i1 %.145483
  br i1 %or.cond484, label %B716.preheader.lr.ph, label %common.ret

B716.preheader.lr.ph:                             ; preds = %B0
  br label %B716.preheader

B716.preheader:                                   ; preds = %B1680, %B716.preheader.lr.ph
  %call.2.0486 = phi i64 [ 0, %B716.preheader.lr.ph ], [ %.610, %B1680 ]
  %row.2.0485 = phi i64 [ 0, %B716.preheader.lr.ph ], [ %row.3.1, %B1680 ]
  br label %B716

B716:                                             ; preds = %B3292, %B716.preheader
  %row.3.1 = phi i64 [ %.1149, %B3292 ], [ %row.2.0485, %B716.preheader ]
  %.172.not.not = icmp slt i64 %row.3.1, %.11
  br i1 %.172.not.not, label %B830.thread, label %B830

B830:                                             ; preds = %B716
  %0 = icmp slt i64 %call.2.0486, %.16
  br i1 %0, label %B842.thread, label %B998

B842.thread:                                      ; preds = %B830
  %sunkaddr = inttoptr i64 %.75 to ptr
  %sunkaddr44 = mul i64 %call.2.0486, 8
  %sunkaddr45 = getelementptr i8, ptr %sunkaddr, i64 %sunkaddr44
  %.22014 = load i64, ptr %sunkaddr45, align 1
  %sunkaddr46 = inttoptr i64 %.80 to ptr
  %sunkaddr47 = mul i64 %call.2.0486, 8
  %sunkaddr48 = getelementptr i8, ptr %sunkaddr46, i64 %sunkaddr47
  %.22615 = load i64, ptr %sunkaddr48, align 1
  br label %B998

B830.thread:                                      ; preds = %B716
  %1 = icmp slt i64 %call.2.0486, %.16
  %.175 = shl nsw i64 %row.3.1, 3
  %.177 = add nsw i64 %.175, %.27
  %.178 = inttoptr i64 %.177 to ptr
  %.179 = load i64, ptr %.178, align 1
  %.183 = add nsw i64 %.175, %.32
  %.184 = inttoptr i64 %.183 to ptr
  %.185 = load i64, ptr %.184, align 1
  br i1 %1, label %B842, label %B1316

B842:                                             ; preds = %B830.thread
  %sunkaddr49 = inttoptr i64 %.75 to ptr
  %sunkaddr50 = mul i64 %call.2.0486, 8
  %sunkaddr51 = getelementptr i8, ptr %sunkaddr49, i64 %sunkaddr50
  %.220 = load i64, ptr %sunkaddr51, align 1
  %sunkaddr52 = inttoptr i64 %.80 to ptr
  %sunkaddr53 = mul i64 %call.2.0486, 8
  %sunkaddr54 = getelementptr i8, ptr %sunkaddr52, i64 %sunkaddr53
  %.226 = load i64, ptr %sunkaddr54, align 1
  %.238 = icmp slt i64 %.220, %.179
  br i1 %.238, label %B998, label %B950

B950:                                             ; preds = %B842
  %.251 = icmp eq i64 %.220, %.179
  %.268 = icmp sgt i64 %.226, %.185
  %or.cond467 = select i1 %.251, i1 %.268, i1 false
  br i1 %or.cond467, label %B998, label %B1316

B998:                                             ; preds = %B950, %B842, %B842.thread, %B830
  %end.4.2393 = phi i64 [ %.226, %B950 ], [ %.226, %B842 ], [ 0, %B830 ], [ %.22615, %B842.thread ]
  %start.4.2392 = phi i64 [ %.179, %B950 ], [ %.220, %B842 ], [ 0, %B830 ], [ %.22014, %B842.thread ]
  %sunkaddr55 = inttoptr i64 %.91 to ptr
  %sunkaddr56 = mul i64 %call.2.0486, 8
  %sunkaddr57 = getelementptr i8, ptr %sunkaddr55, i64 %sunkaddr56
  %.309 = load i64, ptr %sunkaddr57, align 1
  %.314 = shl nsw i64 %.309, 3
  %.316 = add nsw i64 %.314, %.96
  %.317 = inttoptr i64 %.316 to ptr
  %.318 = load i64, ptr %.317, align 1
  %.327 = icmp sgt i64 %.318, -1
  br i1 %.327, label %B1094, label %B1270

B1094:                                            ; preds = %B998
  %.337 = shl nsw i64 %.318, 3
  %.341 = add nsw i64 %.337, %.32
  %.342 = inttoptr i64 %.341 to ptr
  %.343 = load i64, ptr %.342, align 1
  %.345 = icmp slt i64 %.343, %start.4.2392
  br i1 %.345, label %B1144.preheader, label %B1270

B1144.preheader:                                  ; preds = %B1094
  br label %B1144

B1144:                                            ; preds = %B1220, %B1144.preheader
  %found.5.3 = phi i64 [ %.359, %B1220 ], [ %.318, %B1144.preheader ]
  %.351 = shl nsw i64 %found.5.3, 3
  %.355 = add nsw i64 %.351, %.51
  %.356 = inttoptr i64 %.355 to ptr
  %.357 = load i64, ptr %.356, align 1
  %2 = and i64 %.357, 4294967295
  %.367.not = icmp eq i64 %2, 0
  br i1 %.367.not, label %B1270, label %B1220

B1220:                                            ; preds = %B1144
  %.359 = add nsw i64 %2, -1
  %.376 = shl nuw nsw i64 %.359, 3
  %.380 = add nsw i64 %.376, %.32
  %.381 = inttoptr i64 %.380 to ptr
  %.382 = load i64, ptr %.381, align 1
  %.384 = icmp slt i64 %.382, %start.4.2392
  br i1 %.384, label %B1144, label %B1270

B1270:                                            ; preds = %B1220, %B1144, %B1094, %B998
  %found.6.2 = phi i64 [ %.318, %B1094 ], [ %.318, %B998 ], [ %.359, %B1220 ], [ -1, %B1144 ]
  %sunkaddr58 = inttoptr i64 %.96 to ptr
  %sunkaddr59 = mul i64 %.309, 8
  %sunkaddr60 = getelementptr i8, ptr %sunkaddr58, i64 %sunkaddr59
  store i64 %found.6.2, ptr %sunkaddr60, align 1
  br label %B1406

B1316:                                            ; preds = %B950, %B830.thread
  %sunkaddr61 = inttoptr i64 %.37 to ptr
  %sunkaddr62 = mul i64 %row.3.1, 8
  %sunkaddr63 = getelementptr i8, ptr %sunkaddr61, i64 %sunkaddr62
  %.422 = load i64, ptr %sunkaddr63, align 1
  %.423 = ashr i64 %.422, 32
  %.426 = shl nsw i64 %.423, 3
  %.428 = add nsw i64 %.426, %.96
  %.429 = inttoptr i64 %.428 to ptr
  %.430 = load i64, ptr %.429, align 1
  br label %B1406

B1406:                                            ; preds = %B1316, %B1270
  %.302385 = phi i1 [ true, %B1270 ], [ false, %B1316 ]
  %end.4.2383 = phi i64 [ %end.4.2393, %B1270 ], [ %.185, %B1316 ]
  %start.4.2381 = phi i64 [ %start.4.2392, %B1270 ], [ %.179, %B1316 ]
  %lane.2.2 = phi i64 [ %.309, %B1270 ], [ %.423, %B1316 ]
  %found.7.2 = phi i64 [ %found.6.2, %B1270 ], [ %.430, %B1316 ]
  %.449 = icmp sgt i64 %found.7.2, -1
  br i1 %.449, label %B1422.preheader, label %B1668

B1422.preheader:                                  ; preds = %B1406
  br label %B1422

B1422:                                            ; preds = %B1576, %B1422.preheader
  %found.8.2 = phi i64 [ %math, %B1576 ], [ %found.7.2, %B1422.preheader ]
  %overlapped.3.2 = phi i64 [ %spec.select, %B1576 ], [ 0, %B1422.preheader ]
  %.461 = shl nsw i64 %found.8.2, 3
  %.463 = add nsw i64 %.461, %.32
  %.464 = inttoptr i64 %.463 to ptr
  %.465 = load i64, ptr %.464, align 1
  %.471 = icmp eq i64 %.465, %start.4.2381
  br i1 %.471, label %B1476, label %B1540

B1476:                                            ; preds = %B1422
  %3 = icmp eq i64 %start.4.2381, %end.4.2383
  br i1 %3, label %B1570, label %B1576

B1540:                                            ; preds = %B1422
  %.500 = icmp sgt i64 %.465, %start.4.2381
  %.507 = add nsw i64 %.465, %.107
  %.509 = icmp sle i64 %end.4.2383, %.507
  %or.cond468 = select i1 %.500, i1 %.509, i1 false
  br i1 %or.cond468, label %B1668, label %B1576

B1570:                                            ; preds = %B1476
  %sunkaddr64 = inttoptr i64 %.27 to ptr
  %sunkaddr65 = mul i64 %found.8.2, 8
  %sunkaddr66 = getelementptr i8, ptr %sunkaddr64, i64 %sunkaddr65
  %.485 = load i64, ptr %sunkaddr66, align 1
  %.487 = icmp slt i64 %.485, %end.4.2383
  br i1 %.487, label %B1668, label %B1576

B1576:                                            ; preds = %B1570, %B1540, %B1476
  %.544 = icmp slt i64 %start.4.2381, %.465
  %spec.select = select i1 %.544, i64 1, i64 %overlapped.3.2
  %sunkaddr67 = inttoptr i64 %.51 to ptr
  %sunkaddr68 = mul i64 %found.8.2, 8
  %sunkaddr69 = getelementptr i8, ptr %sunkaddr67, i64 %sunkaddr68
  %.564 = load i64, ptr %sunkaddr69, align 1
  %4 = and i64 %.564, 4294967295
  %5 = call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %4, i64 1)
  %math = extractvalue { i64, i1 } %5, 0
  %ov = extractvalue { i64, i1 } %5, 1
  br i1 %ov, label %B1668, label %B1422

B1668:                                            ; preds = %B1576, %B1570, %B1540, %B1406
  %found.9.3 = phi i64 [ %found.7.2, %B1406 ], [ -1, %B1576 ], [ %found.8.2, %B1540 ], [ %found.8.2, %B1570 ]
  %overlapped.2.3 = phi i64 [ 0, %B1406 ], [ %spec.select, %B1576 ], [ %overlapped.3.2, %B1540 ], [ %overlapped.3.2, %B1570 ]
  br i1 %.302385, label %B1680, label %B1738

B1680:                                            ; preds = %B1668
  %6 = icmp slt i64 %row.3.1, %.11
  %sunkaddr70 = inttoptr i64 %.91 to ptr
  %sunkaddr71 = mul i64 %call.2.0486, 8
  %sunkaddr72 = getelementptr i8, ptr %sunkaddr70, i64 %sunkaddr71
  store i64 %found.9.3, ptr %sunkaddr72, align 1
  %.610 = add nuw nsw i64 %call.2.0486, 1
  %.145 = icmp slt i64 %.610, %.16
  %or.cond = select i1 %6, i1 true, i1 %.145
  br i1 %or.cond, label %B716.preheader, label %common.ret

B1738:                                            ; preds = %B1668
  %sunkaddr73 = inttoptr i64 %arg.state to ptr
  %sunkaddr74 = getelementptr i8, ptr %sunkaddr73, i64 104
  %.625 = load i64, ptr %sunkaddr74, align 1
  %.627 = add nsw i64 %.625, %overlapped.2.3
  store i64 %.627, ptr %sunkaddr74, align 1
  %.633 = shl nsw i64 %row.3.1, 3
  %.635 = add nsw i64 %.633, %.37
  %.636 = inttoptr i64 %.635 to ptr
  %.637 = load i64, ptr %.636, align 1
  %7 = and i64 %.637, 4294967295
  %8 = call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %7, i64 1)
  %math75 = extractvalue { i64, i1 } %8, 0
  %ov76 = extractvalue { i64, i1 } %8, 1
  br i1 %ov76, label %B2874, label %B1924

B1924:                                            ; preds = %B1738
  %.664 = icmp sgt i64 %found.9.3, -1
  br i1 %.664, label %B1944, label %B3292

B1944:                                            ; preds = %B1924
  %.684.not = icmp eq i64 %found.9.3, %math75
  br i1 %.684.not, label %B2886.endif.endif, label %B1956.preheader

B1956.preheader:                                  ; preds = %B1944
  br label %B1956

B1956:                                            ; preds = %B2102, %B1956.preheader
  %above.2.4 = phi i64 [ %.726, %B2102 ], [ %found.9.3, %B1956.preheader ]
  %first.4.4 = phi i64 [ %spec.select469, %B2102 ], [ -1, %B1956.preheader ]
  %.702 = shl nsw i64 %above.2.4, 3
  %.722 = add nsw i64 %.702, %.51
  %.723 = inttoptr i64 %.722 to ptr
  %.724 = load i64, ptr %.723, align 1
  %9 = and i64 %.724, 4294967295
  %.734.not = icmp eq i64 %9, 0
  br i1 %.734.not, label %B2874, label %B2102

B2102:                                            ; preds = %B1956
  %sunkaddr77 = inttoptr i64 %.37 to ptr
  %sunkaddr78 = mul i64 %above.2.4, 8
  %sunkaddr79 = getelementptr i8, ptr %sunkaddr77, i64 %sunkaddr78
  %.706 = load i64, ptr %sunkaddr79, align 1
  %10 = and i64 %.706, 4294967295
  %.708.not = icmp eq i64 %10, 0
  %spec.select469 = select i1 %.708.not, i64 %first.4.4, i64 %above.2.4
  %.726 = add nsw i64 %9, -1
  %.752.not = icmp eq i64 %9, %7
  br i1 %.752.not, label %B2128, label %B1956

B2128:                                            ; preds = %B2102
  %.787 = icmp sgt i64 %spec.select469, -1
  br i1 %.787, label %B2142, label %B2874

B2142:                                            ; preds = %B2128
  %.800 = shl nsw i64 %spec.select469, 3
  %.804 = add nsw i64 %.800, %.51
  %.805 = inttoptr i64 %.804 to ptr
  %.806 = load i64, ptr %.805, align 1
  %11 = and i64 %.806, 4294967295
  %.808 = add nsw i64 %11, -1
  %.814.not = icmp eq i64 %found.9.3, %.808
  br i1 %.814.not, label %B2682, label %B2218.preheader

B2218.preheader:                                  ; preds = %B2142
  br label %B2218

B2218:                                            ; preds = %B2606, %B2218.preheader
  %found.10.3 = phi i64 [ %.920, %B2606 ], [ %found.9.3, %B2218.preheader ]
  %.824 = shl nsw i64 %found.10.3, 3
  %.826 = add nsw i64 %.824, %.37
  %.827 = inttoptr i64 %.826 to ptr
  %.828 = load i64, ptr %.827, align 1
  %12 = and i64 %.828, 4294967295
  %.830.not = icmp eq i64 %12, 0
  br i1 %.830.not, label %B2392.endif, label %B2284

B2284:                                            ; preds = %B2218
  %sunkaddr80 = inttoptr i64 %arg.state to ptr
  %sunkaddr81 = getelementptr i8, ptr %sunkaddr80, i64 112
  %.839 = load i64, ptr %sunkaddr81, align 1
  %.840 = add nsw i64 %.839, 1
  store i64 %.840, ptr %sunkaddr81, align 1
  br label %B2392.endif

B2518:                                            ; preds = %B2392.endif
  %sunkaddr82 = inttoptr i64 %.56 to ptr
  %sunkaddr83 = mul i64 %found.10.3, 8
  %sunkaddr84 = getelementptr i8, ptr %sunkaddr82, i64 %sunkaddr83
  %.903 = load i64, ptr %sunkaddr84, align 1
  %.905 = sub nsw i64 %.903, %.887
  store i64 %.905, ptr %sunkaddr84, align 1
  br label %B2606

B2606:                                            ; preds = %B2392.endif, %B2518
  %sunkaddr85 = inttoptr i64 %.51 to ptr
  %sunkaddr86 = mul i64 %found.10.3, 8
  %sunkaddr87 = getelementptr i8, ptr %sunkaddr85, i64 %sunkaddr86
  %.918 = load i64, ptr %sunkaddr87, align 1
  %13 = and i64 %.918, 4294967295
  %.920 = add nsw i64 %13, -1
  %.926.not = icmp eq i64 %13, %11
  br i1 %.926.not, label %B2682, label %B2218

B2682:                                            ; preds = %B2606, %B2142
  %found.11.4 = phi i64 [ %found.9.3, %B2142 ], [ %.920, %B2606 ]
  %.941 = shl nsw i64 %found.11.4, 3
  %.943 = add nsw i64 %.941, %.61
  %.944 = inttoptr i64 %.943 to ptr
  %.945 = load i64, ptr %.944, align 1
  %.947 = sub nsw i64 %.945, %start.4.2381
  %.952 = icmp sgt i64 %.947, 0
  br i1 %.952, label %B2742, label %B2874

B2742:                                            ; preds = %B2682
  %sunkaddr88 = inttoptr i64 %.56 to ptr
  %sunkaddr89 = mul i64 %found.11.4, 8
  %sunkaddr90 = getelementptr i8, ptr %sunkaddr88, i64 %sunkaddr89
  %.966 = load i64, ptr %sunkaddr90, align 1
  %.968 = add nsw i64 %.966, %.947
  store i64 %.968, ptr %sunkaddr90, align 1
  %sunkaddr91 = inttoptr i64 %.61 to ptr
  %sunkaddr92 = mul i64 %found.11.4, 8
  %sunkaddr93 = getelementptr i8, ptr %sunkaddr91, i64 %sunkaddr92
  store i64 %start.4.2381, ptr %sunkaddr93, align 1
  br label %B2874

B2874:                                            ; preds = %B2742, %B2682, %B2128, %B1956, %B1738
  %found.12.2 = phi i64 [ %found.11.4, %B2742 ], [ %found.11.4, %B2682 ], [ %found.9.3, %B2128 ], [ %found.9.3, %B1738 ], [ %found.9.3, %B1956 ]
  %.994 = icmp sgt i64 %found.12.2, -1
  br i1 %.994, label %B2886.endif.endif, label %B3292

B3038:                                            ; preds = %B2886.endif.endif
  %sunkaddr94 = inttoptr i64 %.56 to ptr
  %sunkaddr95 = mul i64 %found.12.2423, 8
  %sunkaddr96 = getelementptr i8, ptr %sunkaddr94, i64 %sunkaddr95
  %.1089 = load i64, ptr %sunkaddr96, align 1
  %.1092.neg = sub i64 %.13.i18, %.13.i19
  %.1095 = add i64 %.1092.neg, %.1089
  store i64 %.1095, ptr %sunkaddr96, align 1
  %sunkaddr97 = inttoptr i64 %.61 to ptr
  %sunkaddr98 = mul i64 %found.12.2423, 8
  %sunkaddr99 = getelementptr i8, ptr %sunkaddr97, i64 %sunkaddr98
  store i64 %.13.i19, ptr %sunkaddr99, align 1
  br label %B3176

B3176:                                            ; preds = %B2886.endif.endif, %B3038
  %sunkaddr100 = inttoptr i64 %.51 to ptr
  %sunkaddr101 = mul i64 %found.12.2423, 8
  %sunkaddr102 = getelementptr i8, ptr %sunkaddr100, i64 %sunkaddr101
  %.1117 = load i64, ptr %sunkaddr102, align 1
  %.1118 = and i64 %.1117, -4294967296
  %.1124 = add i64 %.1118, 4294967296
  %.1126 = add nuw nsw i64 %found.12.2423, 1
  %.1129 = or i64 %.1124, %.1126
  %sunkaddr103 = inttoptr i64 %.51 to ptr
  %sunkaddr104 = mul i64 %row.3.1, 8
  %sunkaddr105 = getelementptr i8, ptr %sunkaddr103, i64 %sunkaddr104
  store i64 %.1129, ptr %sunkaddr105, align 1
  br label %B3292

B3292:                                            ; preds = %B3176, %B2874, %B1924
  %14 = icmp slt i64 %call.2.0486, %.16
  %.1140 = shl nsw i64 %lane.2.2, 3
  %.1144 = add nsw i64 %.1140, %.96
  %.1146 = inttoptr i64 %.1144 to ptr
  store i64 %row.3.1, ptr %.1146, align 1
  %.1149 = add nsw i64 %row.3.1, 1
  %.1157 = icmp slt i64 %.1149, %.11
  %brmerge = or i1 %14, %.1157
  br i1 %brmerge, label %B716, label %common.ret

common.ret:                                       ; preds = %B3292, %B1680, %B0
  store i64 0, ptr %retptr, align 8
  ret i32 0

B2392.endif:                                      ; preds = %B2284, %B2218
  %sunkaddr106 = inttoptr i64 %.32 to ptr
  %sunkaddr107 = mul i64 %found.10.3, 8
  %sunkaddr108 = getelementptr i8, ptr %sunkaddr106, i64 %sunkaddr107
  %.849 = load i64, ptr %sunkaddr108, align 1
  %sunkaddr109 = inttoptr i64 %.61 to ptr
  %sunkaddr110 = mul i64 %found.10.3, 8
  %sunkaddr111 = getelementptr i8, ptr %sunkaddr109, i64 %sunkaddr110
  %.855 = load i64, ptr %sunkaddr111, align 1
  %.13.i = tail call i64 @llvm.smax.i64(i64 %.855, i64 %start.4.2381)
  %.887 = sub nsw i64 %.849, %.13.i
  %.892 = icmp sgt i64 %.887, 0
  br i1 %.892, label %B2518, label %B2606

B2886.endif.endif:                                ; preds = %B2874, %B1944
  %found.12.2423 = phi i64 [ %found.12.2, %B2874 ], [ %found.9.3, %B1944 ]
  %.997 = shl nsw i64 %found.12.2423, 3
  %.999 = add nsw i64 %.997, %.61
  %.1000 = inttoptr i64 %.999 to ptr
  %.1001 = load i64, ptr %.1000, align 1
  %.13.i18 = tail call i64 @llvm.smax.i64(i64 %.1001, i64 %start.4.2381)
  %.1039 = add nsw i64 %.997, %.32
  %.1040 = inttoptr i64 %.1039 to ptr
  %.1041 = load i64, ptr %.1040, align 1
  %.13.i19 = tail call i64 @llvm.smin.i64(i64 %.1041, i64 %end.4.2383)
  %.1078 = icmp slt i64 %.13.i18, %.13.i19
  br i1 %.1078, label %B3038, label %B3176
}

declare i64 @llvm.smax.i64(i64, i64)

declare i64 @llvm.smin.i64(i64, i64)

declare { i64, i1 } @llvm.usub.with.overflow.i64(i64, i64)

